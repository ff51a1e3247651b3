//! The machine that an environment is on, as far as tests want another one: which boot of it this is, whether its disk takes
//! what is written, and what tells its files from copies.
//!
//! Real environments have none ([`EnvironmentOptions::host`] is `None`), and ask nobody. What fails here fails as the real
//! step would: before it has done anything.

use std::{
    fmt,
    fs::{self, File},
    io,
};

use super::EnvironmentOptions;

/// See the module.
#[doc(hidden)]
pub trait Host: fmt::Debug + Send + Sync {
    /// Identifies the boot, if that is told.
    fn boot(&self) -> Option<String>;
    /// Whether the disk takes this step; an error is that of the disk.
    fn allow(&self, step: DiskStep) -> io::Result<()>;
    /// What tells a file from every copy of it, if that is told.
    fn original(&self, file: &File) -> Option<String> {
        original(file)
    }
}

/// The number of its inode, and when that was made: numbers are given again, and volumes that are filled alike give the same
/// ones. Both stay when a file is renamed. Each is another one for a copy, whatever made it, and the same where whole volumes
/// are copied. Some file systems give other numbers each time that they are mounted (FAT, some of FUSE's); nothing here can
/// tell that from a copy.
#[cfg(unix)]
fn original(file: &File) -> Option<String> {
    use std::{os::unix::fs::MetadataExt, time::SystemTime};
    let metadata = file.metadata().ok()?;
    let made = metadata.created().ok();
    let made = made.and_then(|made| made.duration_since(SystemTime::UNIX_EPOCH).ok());
    Some(format!(
        "{}-{}",
        metadata.ino(),
        made.unwrap_or_default().as_nanos()
    ))
}

#[cfg(not(unix))]
fn original(_: &File) -> Option<String> {
    None
}

/// What an environment does that a disk can refuse.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DiskStep {
    /// Its directory is made.
    MakeDirectory,
    /// A new sidecar is written beside the old one.
    WriteSidecar,
    /// And synced.
    SyncSidecar,
    /// And put in the place of the old one.
    PlaceSidecar,
    /// A damaged file is set aside.
    SetAside,
    /// Files that are not trusted are removed.
    Remove,
    /// LMDB's file is opened, or made.
    OpenData,
    /// The stores are made in it, if they are new.
    MakeStores,
    /// A transaction is written.
    Commit,
    /// The map grows.
    Grow,
    /// All is synced, at the end.
    Sync,
}

impl DiskStep {
    /// All there are.
    pub const ALL: [Self; 11] = [
        Self::MakeDirectory,
        Self::WriteSidecar,
        Self::SyncSidecar,
        Self::PlaceSidecar,
        Self::SetAside,
        Self::Remove,
        Self::OpenData,
        Self::MakeStores,
        Self::Commit,
        Self::Grow,
        Self::Sync,
    ];
}

impl EnvironmentOptions {
    /// Whether the disk takes this step.
    #[inline]
    pub(super) fn allow(&self, step: DiskStep) -> io::Result<()> {
        self.host.as_ref().map_or(Ok(()), |host| host.allow(step))
    }

    /// What tells a file from every copy of it, as far as the system tells that: it stays as long as the file does, also when
    /// that is renamed.
    #[doc(hidden)]
    pub fn original(&self, file: &File) -> Option<String> {
        match &self.host {
            Some(host) => host.original(file),
            None => original(file),
        }
    }

    /// Differs after each start of the machine. Containers on one machine share it, as they share the page cache.
    pub(super) fn boot(&self) -> Option<String> {
        if let Some(host) = &self.host {
            return host.boot();
        }
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }
}
