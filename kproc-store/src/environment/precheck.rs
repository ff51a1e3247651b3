//! Looks at LMDB's data file before LMDB maps it: what a map would turn into a signal is found here by reading.
//!
//! Finds truncation, foreign files and damaged headers. Damage inside pages is not found by this (LMDB has no
//! checksums; see [`EnvironmentOptions::checksum`](crate::EnvironmentOptions::checksum)).

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// Offsets inside a meta page, and what is there: LMDB's format 1 on 64-bit machines.
mod at {
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
    Ok(check(&File::open(data)?)?.err())
}

fn check(file: &File) -> io::Result<Result<(), String>> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(Err("the data file is empty".into()));
    }
    let mut first = [0; at::END];
    if length < at::END as u64 {
        return Ok(Err(format!("the data file is cut off: it has {length} bytes")));
    }
    file.read_exact_at(&mut first, 0)?;
    let page_size = u32_at(&first, at::PAGE_SIZE);
    if u32_at(&first, at::MAGIC) != MAGIC {
        return Ok(Err(
            "the data file is not one of LMDB's, or its header is damaged".into(),
        ));
    }
    if !page_size.is_power_of_two() || !(512..=65536).contains(&page_size) {
        return Ok(Err(format!("the header is damaged: pages of {page_size} bytes")));
    }
    if length < 2 * u64::from(page_size) {
        return Ok(Err(format!("the data file is cut off: it has {length} bytes")));
    }
    let mut second = [0; at::END];
    file.read_exact_at(&mut second, u64::from(page_size))?;
    let mut newest = (0, 0);
    for (number, page) in [first, second].iter().enumerate() {
        match check_meta_page(page, page_size) {
            Ok(meta) => newest = newest.max(meta),
            Err(what) => return Ok(Err(format!("header {number} is damaged: {what}"))),
        }
    }
    let (_, last_page) = newest;
    let needed = (last_page + 1) * u64::from(page_size);
    if length < needed {
        return Ok(Err(format!(
            "the data file is cut off: it has {length} bytes of {needed}"
        )));
    }
    Ok(Ok(()))
}

/// Checks one meta page and returns its transaction and last page.
fn check_meta_page(page: &[u8; at::END], page_size: u32) -> Result<(u64, u64), String> {
    let flags = u16::from_ne_bytes([page[at::FLAGS], page[at::FLAGS + 1]]);
    if flags & META_PAGE == 0 {
        return Err(format!("page flags {flags:#06x}"));
    }
    let (magic, version) = (u32_at(page, at::MAGIC), u32_at(page, at::VERSION));
    if magic != MAGIC {
        return Err(format!("magic number {magic:#010x}"));
    }
    if version != 1 {
        return Err(format!("LMDB format {version}"));
    }
    if u32_at(page, at::PAGE_SIZE) != page_size {
        return Err(format!("pages of {} bytes", u32_at(page, at::PAGE_SIZE)));
    }
    let (map_size, last_page) = (u64_at(page, at::MAP_SIZE), u64_at(page, at::LAST_PAGE));
    if map_size > 1 << 47 || last_page > map_size / u64::from(page_size) {
        return Err(format!("map of {map_size} bytes, last page {last_page}"));
    }
    for root in [u64_at(page, at::FREE_ROOT), u64_at(page, at::MAIN_ROOT)] {
        if root != NO_ROOT && root > last_page {
            return Err(format!("root page {root} of {last_page}"));
        }
    }
    Ok((u64_at(page, at::TRANSACTION), last_page))
}

fn u32_at(page: &[u8; at::END], at: usize) -> u32 {
    u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

fn u64_at(page: &[u8; at::END], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&page[at..at + 8]);
    u64::from_ne_bytes(bytes)
}
