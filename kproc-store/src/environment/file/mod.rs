//! Looks at LMDB's data file before LMDB maps it: what LMDB would answer with a signal is found here by reading.
//!
//! LMDB believes its file. A page that is not there ends the process by SIGBUS, one that is not what it should be by
//! an assertion. Here truncation, foreign files and damaged headers are found at each opening. Looking at all pages
//! takes as long as reading them, and is done if there is a reason to. Neither finds damage inside of values: see
//! [`EnvironmentOptions::checksum`](crate::EnvironmentOptions::checksum).

mod headers;
mod pages;

use std::{fs::File, io, path::Path};

use self::headers::Headers;

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// At the headers and the length.
    Quick,
    /// At every page.
    Thorough,
}

/// What is here reads the format of these machines.
const READABLE: bool = cfg!(all(target_pointer_width = "64", target_endian = "little"));

/// The last transaction that was committed to the file, if it says that.
pub(super) fn last_transaction(data: &Path) -> Option<u64> {
    let file = File::open(data).ok().filter(|_| READABLE)?;
    let meta = Headers::read(&file).ok()?.check().ok()?;
    Some(meta.transaction)
}

/// Why the file cannot be opened, if so. Knows of no problem where it cannot read the format.
pub(super) fn problem(data: &Path, look: Look) -> io::Result<Option<String>> {
    if !READABLE {
        return Ok(None);
    }
    let file = File::open(data)?;
    loop {
        let headers = Headers::read(&file)?;
        let Err(problem) = check(&file, &headers, look)? else {
            return Ok(None);
        };
        // If we only look while a writer is at work, it may have written in the meantime. Then look again.
        if Headers::read(&file)? == headers {
            return Ok(Some(problem));
        }
    }
}

fn check(file: &File, headers: &Headers, look: Look) -> io::Result<Result<(), String>> {
    let meta = match headers.check() {
        Ok(meta) => meta,
        Err(problem) => return Ok(Err(problem)),
    };
    // The file may be shorter than it says: pages at its end that were freed in the transaction that took them were
    // never written. Whether that is all that is missing, only a look at the others can tell.
    let short = headers.length < (meta.last_page + 1) * meta.page_size;
    if short || look == Look::Thorough {
        pages::check(file, &meta)
    } else {
        Ok(Ok(()))
    }
}

const NO_ROOT: u64 = u64::MAX;

/// A B-tree, as LMDB describes it in headers and for named databases.
#[derive(Debug, Clone, Copy, Default)]
struct Tree {
    flags: u16,
    depth: u16,
    entries: u64,
    root: u64,
}

impl Tree {
    /// Bytes that describe a tree.
    const SIZE: usize = 48;

    fn read(bytes: &[u8]) -> Self {
        Self {
            flags: u16_at(bytes, 4),
            depth: u16_at(bytes, 6),
            entries: u64_at(bytes, 32),
            root: u64_at(bytes, 40),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
