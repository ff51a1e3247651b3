//! All pages that can be reached from a header: the B-trees of free pages, of databases, and of each database.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::{NO_ROOT, Tree, headers::Meta, u16_at, u32_at, u64_at};

/// Offsets inside a page.
mod at {
    pub(super) const NUMBER: usize = 0;
    pub(super) const FLAGS: usize = 10;
    /// Of a branch or leaf: where its free space begins, and ends.
    pub(super) const LOWER: usize = 12;
    pub(super) const UPPER: usize = 14;
    /// Of an overflow page: how many pages it has.
    pub(super) const PAGES: usize = 12;
    /// The header's end. In branches and leaves the offsets of nodes follow, two bytes each.
    pub(super) const CONTENT: usize = 16;
}

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;

/// A node's header: a page number or the length of the data, flags, length of the key.
const NODE: usize = 8;
/// The data is on an overflow page.
const BIG_DATA: u16 = 0x01;
/// The data describes a tree.
const SUB_TREE: u16 = 0x02;

/// Keys of this tree are integers, and not in the order of their bytes.
const INTEGER_KEYS: u16 = 0x08;

const MAX_DEPTH: u16 = 32;

/// Why the trees cannot be trusted, if so.
pub(super) fn check(file: &File, meta: &Meta) -> io::Result<Result<(), String>> {
    let mut walk = Walk {
        file,
        meta,
        seen: vec![0; (meta.last_page / 64 + 1) as usize],
    };
    for tree in &meta.trees {
        match walk.tree(tree) {
            Ok(()) => {}
            Err(Stop::Bad(what)) => return Ok(Err(what)),
            Err(Stop::Io(error)) => return Err(error),
        }
    }
    Ok(Ok(()))
}

enum Stop {
    Bad(String),
    Io(io::Error),
}

/// What is wrong with page `number`.
fn bad<T>(number: u64, what: impl std::fmt::Display) -> Result<T, Stop> {
    Err(Stop::Bad(format!(
        "the data file is damaged: page {number} {what}"
    )))
}

struct Walk<'f> {
    file: &'f File,
    meta: &'f Meta,
    /// A bit per page. Each page is reached once.
    seen: Vec<u64>,
}

impl Walk<'_> {
    fn tree(&mut self, tree: &Tree) -> Result<(), Stop> {
        if tree.root == NO_ROOT {
            return if tree.entries == 0 {
                Ok(())
            } else {
                bad(0, "describes a tree without a root")
            };
        }
        if !(1..=MAX_DEPTH).contains(&tree.depth) {
            return bad(
                tree.root,
                format_args!("is the root of a tree of depth {}", tree.depth),
            );
        }
        let entries = self.page(tree.root, tree, tree.depth)?;
        if entries == tree.entries {
            Ok(())
        } else {
            bad(
                tree.root,
                format_args!("is the root of {entries} entries instead of {}", tree.entries),
            )
        }
    }

    /// Checks a branch or leaf with everything below it, and counts its entries.
    fn page(&mut self, number: u64, tree: &Tree, level: u16) -> Result<u64, Stop> {
        let page = self.read(number)?;
        let expected = if level == 1 { LEAF } else { BRANCH };
        let flags = u16_at(&page, at::FLAGS);
        if flags != expected {
            return bad(
                number,
                format_args!("has flags {flags:#06x} instead of {expected:#06x}"),
            );
        }
        let mut entries = 0;
        let (mut last_key, mut first) = (None, true);
        for node in nodes(number, &page)? {
            let node = node?;
            let in_order = last_key.is_none_or(|last: &[u8]| last < node.key);
            if !in_order && tree.flags & INTEGER_KEYS == 0 {
                return bad(number, "has keys in disorder");
            }
            // The first key of a branch stands for all before the second, whatever it says.
            last_key = (level == 1 || !first).then_some(node.key);
            first = false;
            if level > 1 {
                entries += self.page(node.child(), tree, level - 1)?;
                continue;
            }
            entries += 1;
            let Some(data) = node.data(&page) else {
                return bad(number, "has a node that leaves it");
            };
            if node.flags & BIG_DATA != 0 {
                self.overflow(u64_at(data, 0), node.data_length())?;
            } else if node.flags & SUB_TREE != 0 {
                if data.len() != Tree::SIZE {
                    return bad(number, "has a description of a database that is none");
                }
                self.tree(&Tree::read(data))?;
            }
        }
        Ok(entries)
    }

    /// Checks the pages of a long value.
    fn overflow(&mut self, number: u64, length: usize) -> Result<(), Stop> {
        let page = self.read(number)?;
        let (flags, pages) = (u16_at(&page, at::FLAGS), u64::from(u32_at(&page, at::PAGES)));
        let needed = ((at::CONTENT + length) as u64).div_ceil(self.meta.page_size);
        if flags != OVERFLOW || pages < needed {
            return bad(
                number,
                format_args!("has flags {flags:#06x} and {pages} pages instead of {needed}"),
            );
        }
        for follower in number + 1..number + pages {
            self.reach(follower)?;
        }
        // Read what is there of the last one: whether the file goes so far.
        if pages > 1 {
            self.read_at(number + pages - 1).map(drop)
        } else {
            Ok(())
        }
    }

    fn read(&mut self, number: u64) -> Result<Vec<u8>, Stop> {
        self.reach(number)?;
        let page = self.read_at(number)?;
        match u64_at(&page, at::NUMBER) {
            found if found == number => Ok(page),
            found => bad(number, format_args!("says that it is page {found}")),
        }
    }

    /// Notes that a page is in use.
    fn reach(&mut self, number: u64) -> Result<(), Stop> {
        if !(2..=self.meta.last_page).contains(&number) {
            return bad(
                number,
                format_args!("is used, and the last page is {}", self.meta.last_page),
            );
        }
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen[word] & bit != 0 {
            return bad(number, "is used twice");
        }
        self.seen[word] |= bit;
        Ok(())
    }

    fn read_at(&self, number: u64) -> Result<Vec<u8>, Stop> {
        let mut page = vec![0; self.meta.page_size as usize];
        match self.file.read_exact_at(&mut page, number * self.meta.page_size) {
            Ok(()) => Ok(page),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Stop::Bad(format!(
                "the data file is cut off: page {number} is missing"
            ))),
            Err(error) => Err(Stop::Io(error)),
        }
    }
}

/// A node of a branch or leaf.
struct Node<'p> {
    low: u32,
    flags: u16,
    key: &'p [u8],
    data_start: usize,
}

impl<'p> Node<'p> {
    /// Of a leaf: the length of its data.
    fn data_length(&self) -> usize {
        self.low as usize
    }

    /// Of a leaf: its data, or the number of the page where that begins.
    fn data(&self, page: &'p [u8]) -> Option<&'p [u8]> {
        let length = if self.flags & BIG_DATA != 0 {
            8
        } else {
            self.data_length()
        };
        page.get(self.data_start..self.data_start.checked_add(length)?)
    }

    /// Of a branch: the page below.
    fn child(&self) -> u64 {
        u64::from(self.low) | u64::from(self.flags) << 32
    }
}

/// The nodes of a branch or leaf.
fn nodes(number: u64, page: &[u8]) -> Result<impl Iterator<Item = Result<Node<'_>, Stop>>, Stop> {
    let (lower, upper) = (u16_at(page, at::LOWER) as usize, u16_at(page, at::UPPER) as usize);
    if lower <= at::CONTENT || lower % 2 != 0 || lower > upper || upper > page.len() {
        return bad(number, format_args!("has its free space from {lower} to {upper}"));
    }
    Ok((at::CONTENT..lower).step_by(2).map(move |slot| {
        let start = u16_at(page, slot) as usize;
        let header = page.get(start..start + NODE).filter(|_| start >= upper);
        let key = header.and_then(|header| {
            let length = u16_at(header, 6) as usize;
            page.get(start + NODE..start + NODE + length)
        });
        let (Some(header), Some(key)) = (header, key) else {
            return bad(number, "has a node that leaves it");
        };
        let (low, flags) = (u32_at(header, 0), u16_at(header, 4));
        Ok(Node {
            low,
            flags,
            key,
            data_start: start + NODE + key.len(),
        })
    }))
}
