//! The two headers (meta pages): commits write to the one and the other in turn.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::{NO_ROOT, Tree, u16_at, u32_at, u64_at};

/// Offsets inside a meta page, and what is there.
mod at {
    pub(super) const NUMBER: usize = 0;
    pub(super) const FLAGS: usize = 10;
    pub(super) const MAGIC: usize = 16;
    pub(super) const VERSION: usize = 20;
    pub(super) const MAP_SIZE: usize = 32;
    pub(super) const PAGE_SIZE: usize = 40;
    pub(super) const FREE_TREE: usize = 40;
    pub(super) const MAIN_TREE: usize = 88;
    pub(super) const LAST_PAGE: usize = 136;
    pub(super) const TRANSACTION: usize = 144;
    pub(super) const END: usize = 152;
}

const MAGIC: u32 = 0xBEEF_C0DE;
const META_PAGE: u16 = 0x08;

/// The beginning of a meta page.
type Page = [u8; at::END];

/// Both headers, and how long the file is.
#[derive(PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) length: u64,
    pages: Option<[Page; 2]>,
}

impl Headers {
    pub(super) fn read(file: &File) -> io::Result<Self> {
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

    /// What the newer of the two says, or what is wrong with them.
    pub(super) fn check(&self) -> Result<Meta, String> {
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
        let mut metas = [Meta::default(); 2];
        for (number, page) in pages.iter().enumerate() {
            metas[number] = check_meta_page(page, number as u64, page_size)
                .map_err(|what| format!("header {number} is damaged: {what}"))?;
        }
        // Both transactions are zero in the beginning. Then each one replaces the older one.
        let [even, odd] = metas.map(|meta| meta.transaction);
        if odd != 0 && (odd.abs_diff(even) != 1 || even % 2 != 0) || odd == 0 && even != 0 {
            return Err(format!(
                "the headers do not fit each other: transactions {even} and {odd}"
            ));
        }
        Ok(metas[usize::from(odd > even)])
    }
}

/// What a header says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meta {
    pub(super) transaction: u64,
    pub(super) page_size: u64,
    pub(super) last_page: u64,
    /// The tree of free pages, and the tree of databases.
    pub(super) trees: [Tree; 2],
}

fn check_meta_page(page: &Page, number: u64, page_size: u64) -> Result<Meta, String> {
    let (found, flags) = (u64_at(page, at::NUMBER), u16_at(page, at::FLAGS));
    if found != number || flags != META_PAGE {
        return Err(format!("page {found} with flags {flags:#06x}"));
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
    let trees = [at::FREE_TREE, at::MAIN_TREE].map(|at| Tree::read(&page[at..]));
    for Tree { root, .. } in trees {
        if root != NO_ROOT && !(2..=last_page).contains(&root) {
            return Err(format!("root page {root} of {last_page}"));
        }
    }
    Ok(Meta {
        transaction: u64_at(page, at::TRANSACTION),
        page_size,
        last_page,
        trees,
    })
}
