//! Looks at LMDB's data file before LMDB maps it: what a map would turn into a signal is found here by reading.
//!
//! Finds truncation, foreign files and damaged headers. Damage inside pages is not found by this (LMDB has no
//! checksums; see [`EnvironmentOptions::checksum`](crate::EnvironmentOptions::checksum)).

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// Offsets inside a meta page, and what is there: LMDB's format 1 on 64-bit machines.
mod at {
    pub(super) const NUMBER: usize = 0;
    pub(super) const FLAGS: usize = 10;
    pub(super) const MAGIC: usize = 16;
    pub(super) const VERSION: usize = 20;
    pub(super) const MAP_SIZE: usize = 32;
    pub(super) const PAGE_SIZE: usize = 40;
    pub(super) const FREE_ROOT: usize = 80;
    pub(super) const MAIN_ROOT: usize = 128;
    pub(super) const LAST_PAGE: usize = 136;
    pub(super) const TRANSACTION: usize = 144;
    pub(super) const END: usize = 152;
}

const MAGIC: u32 = 0xBEEF_C0DE;
const META_PAGE: u16 = 0x08;
const NO_ROOT: u64 = u64::MAX;

/// Why the file cannot be opened, if so.
pub(super) fn problem(data: &Path) -> io::Result<Option<String>> {
    if !cfg!(target_pointer_width = "64") {
        return Ok(None);
    }
    let file = File::open(data)?;
    let mut before = None;
    loop {
        let headers = Headers::read(&file)?;
        let Err(problem) = headers.check() else {
            return Ok(None);
        };
        // A writer may be at work while we only look: what it was in the middle of is different the next time.
        if before.as_ref() == Some(&headers) {
            return Ok(Some(problem));
        }
        before = Some(headers);
    }
}

/// The beginning of a meta page.
type Page = [u8; at::END];

/// What the file says of itself, twice: commits write to the one and the other in turn.
#[derive(PartialEq, Eq)]
struct Headers {
    length: u64,
    pages: Option<[Page; 2]>,
}

impl Headers {
    fn read(file: &File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut pages = [[0; at::END]; 2];
        if length < at::END as u64 {
            return Ok(Self { length, pages: None });
        }
        file.read_exact_at(&mut pages[0], 0)?;
        let page_size = u64::from(u32_at(&pages[0], at::PAGE_SIZE));
        if length >= page_size + at::END as u64 {
            file.read_exact_at(&mut pages[1], page_size)?;
        }
        Ok(Self {
            length,
            pages: Some(pages),
        })
    }

    fn check(&self) -> Result<(), String> {
        let cut_off = |needed| {
            format!(
                "the data file is cut off: it has {} bytes of {needed}",
                self.length
            )
        };
        let Some(pages) = &self.pages else {
            return Err(cut_off(at::END as u64));
        };
        let page_size = u32_at(&pages[0], at::PAGE_SIZE);
        if u32_at(&pages[0], at::MAGIC) != MAGIC {
            return Err("the data file is not one of LMDB's, or its header is damaged".into());
        }
        if !page_size.is_power_of_two() || !(512..=65536).contains(&page_size) {
            return Err(format!("header 0 is damaged: pages of {page_size} bytes"));
        }
        let page_size = u64::from(page_size);
        if self.length < 2 * page_size {
            return Err(cut_off(2 * page_size));
        }
        let mut newest = (0, 0);
        let mut transactions = [0; 2];
        for (number, page) in pages.iter().enumerate() {
            let meta = check_meta_page(page, number as u64, page_size)
                .map_err(|what| format!("header {number} is damaged: {what}"))?;
            transactions[number] = meta.0;
            newest = newest.max(meta);
        }
        // Both are zero in the beginning. Then each transaction replaces the older one.
        let [even, odd] = transactions;
        if odd != 0 && (odd.abs_diff(even) != 1 || even % 2 != 0) || odd == 0 && even != 0 {
            return Err(format!(
                "the headers do not fit each other: transactions {even} and {odd}"
            ));
        }
        let needed = (newest.1 + 1) * page_size;
        if self.length < needed {
            Err(cut_off(needed))
        } else {
            Ok(())
        }
    }
}

/// Checks one meta page and returns its transaction and last page.
fn check_meta_page(page: &Page, number: u64, page_size: u64) -> Result<(u64, u64), String> {
    let flags = u16::from_ne_bytes([page[at::FLAGS], page[at::FLAGS + 1]]);
    if u64_at(page, at::NUMBER) != number || flags != META_PAGE {
        return Err(format!(
            "page {} with flags {flags:#06x}",
            u64_at(page, at::NUMBER)
        ));
    }
    let (magic, version) = (u32_at(page, at::MAGIC), u32_at(page, at::VERSION));
    if magic != MAGIC {
        return Err(format!("magic number {magic:#010x}"));
    }
    if version != 1 {
        return Err(format!("LMDB format {version}"));
    }
    if u64::from(u32_at(page, at::PAGE_SIZE)) != page_size {
        return Err(format!("pages of {} bytes", u32_at(page, at::PAGE_SIZE)));
    }
    let (map_size, last_page) = (u64_at(page, at::MAP_SIZE), u64_at(page, at::LAST_PAGE));
    if map_size > 1 << 47 || last_page > map_size / page_size {
        return Err(format!("map of {map_size} bytes, last page {last_page}"));
    }
    for root in [u64_at(page, at::FREE_ROOT), u64_at(page, at::MAIN_ROOT)] {
        if root != NO_ROOT && !(2..=last_page).contains(&root) {
            return Err(format!("root page {root} of {last_page}"));
        }
    }
    Ok((u64_at(page, at::TRANSACTION), last_page))
}

fn u32_at(page: &Page, at: usize) -> u32 {
    u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

fn u64_at(page: &Page, at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&page[at..at + 8]);
    u64::from_ne_bytes(bytes)
}
