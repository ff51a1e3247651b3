//! The environment's directory and its file system.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{DiskStep, EnvironmentOptions};

/// LMDB's data file.
pub(crate) const DATA: &str = "data.mdb";
/// LMDB's lock file.
pub(crate) const LMDB_LOCK: &str = "lock.mdb";
/// Where a damaged data file is put. Only the last one is kept.
const SET_ASIDE: &str = "set-aside.mdb";

/// The device that a directory is on.
pub(super) fn device(directory: &Path) -> io::Result<u64> {
    Ok(fs::metadata(directory)?.dev())
}

/// Writes a new file in the place of an old one, whole or not at all. If `durable`, it is on the disk when this returns.
pub(super) fn write(
    directory: &Path,
    name: &str,
    text: impl FnOnce(&File) -> io::Result<Vec<u8>>,
    durable: bool,
    options: &EnvironmentOptions,
) -> io::Result<()> {
    let new = directory.join(format!("{name}.new"));
    options.allow(DiskStep::WriteSidecar)?;
    let mut file = File::create(&new)?;
    file.write_all(&text(&file)?)?;
    if durable {
        options.allow(DiskStep::SyncSidecar)?;
        file.sync_all()?;
    }
    options.allow(DiskStep::PlaceSidecar)?;
    fs::rename(&new, directory.join(name))?;
    if durable {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Removes LMDB's files.
pub(super) fn remove_data(directory: &Path) -> io::Result<()> {
    remove_if_there(&directory.join(DATA))?;
    remove_if_there(&directory.join(LMDB_LOCK))
}

/// Removes the damaged data file that was kept.
pub(super) fn remove_set_aside(directory: &Path) -> io::Result<()> {
    remove_if_there(&directory.join(SET_ASIDE))
}

/// Moves LMDB's data file out of the way, and says where to.
pub(super) fn set_data_aside(directory: &Path) -> io::Result<PathBuf> {
    let to = directory.join(SET_ASIDE);
    fs::rename(directory.join(DATA), &to)?;
    remove_if_there(&directory.join(LMDB_LOCK))?;
    Ok(to)
}

/// Bytes that are free for us on the directory's file system.
pub(super) fn free(directory: &Path) -> io::Result<u64> {
    let file_system = rustix::fs::statvfs(directory)?;
    Ok(file_system.f_bavail.saturating_mul(file_system.f_frsize))
}

/// The kind of network file system that the directory is on, if so. LMDB's memory map and locks need a local one.
#[cfg(target_os = "linux")]
pub(super) fn network_kind(directory: &Path) -> io::Result<Option<&'static str>> {
    let kind = rustix::fs::statfs(directory)?.f_type;
    // The numbers are 32 bits wide; the field's type differs between machines.
    #[allow(clippy::unnecessary_cast)]
    let kind = match kind as u32 {
        0x6969 => "NFS",
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB",
        0x0102_1997 => "9P",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x4750_4653 => "GPFS",
        _ => return Ok(None),
    };
    Ok(Some(kind))
}

/// Told on Linux only.
#[cfg(not(target_os = "linux"))]
pub(super) fn network_kind(_directory: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}

/// How many bytes are free, if this error of a write means that the disk is full.
///
/// LMDB reports a short write as an input/output error, so that one is taken for a full disk where there is next
/// to no space left, or where the process may not write larger files.
pub(super) fn disk_full(directory: &Path, error: Option<i32>) -> Option<u64> {
    use rustix::io::Errno;
    /// So little free space is none: file systems keep some for themselves.
    const NEARLY: u64 = 1 << 20;

    let error = Errno::from_raw_os_error(error?);
    let free = free(directory).ok()?;
    match error {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Some(free),
        Errno::IO if free < NEARLY => Some(free),
        Errno::IO => {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current?;
            let size = fs::metadata(directory.join(DATA)).ok()?.len();
            (size + NEARLY > limit).then_some(limit.saturating_sub(size))
        }
        _ => None,
    }
}
