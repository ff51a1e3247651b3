//! Files that one holder has at a time.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

/// A file that nobody else locks as long as this lives: no other process, and nobody else in this one. The file itself
/// stays, so that nobody locks one that is gone.
///
/// ```
/// use kproc_store::FileLock;
///
/// # fn main() -> std::io::Result<()> {
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("lock");
/// let lock = FileLock::take(&path)?.expect("nobody has it");
/// assert!(FileLock::take(&path)?.is_err());
/// drop(lock);
/// assert!(FileLock::take(&path)?.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Opens the file, makes it if it is not there, and locks it. If somebody else has it, the file comes back
    /// unlocked, for it may say who that is.
    pub fn take(path: &Path) -> io::Result<Result<Self, File>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Ok(Self(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(Err(file)),
            Err(error) => Err(error.into()),
        }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file would do, but for a child process that is being started at this moment and has the file
        // open, too, until it becomes another program.
        if let Err(error) = flock(&self.0, FlockOperation::Unlock) {
            tracing::debug!(%error, "unlocking");
        }
    }
}
