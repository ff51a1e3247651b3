//! One writer per directory. LMDB would let a second process open the environment and write.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
};

use crate::{FileLock, OpenError};

const FILE: &str = "lock";

/// The directory's lock, held for as long as this lives. The file stays, so that nobody locks one that is gone.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    file: FileLock,
    path: PathBuf,
}

impl DirectoryLock {
    pub(super) fn take(directory: &Path) -> Result<Self, OpenError> {
        let fault = |error: io::Error| OpenError::io(directory, "its lock file", &error);
        let path = directory.join(FILE);
        let file = match FileLock::take(&path).map_err(fault)? {
            Ok(file) => file,
            Err(mut file) => {
                return Err(OpenError::InUse {
                    path: directory.to_owned(),
                    holder: holder(&mut file),
                });
            }
        };
        let name_holder = |mut file: &File| {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", process::id())
        };
        name_holder(file.file()).map_err(fault)?;
        let lock = Self { file, path };
        if lock.is_in_place().map_err(fault)? {
            Ok(lock)
        } else {
            // Someone removed the directory between our opening the file and locking it.
            let what = "it was removed or replaced while it was opened: start again".to_owned();
            Err(OpenError::Io {
                path: directory.to_owned(),
                what,
            })
        }
    }

    /// Removes the file. Whoever waits for it will see that it is gone.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// Whether the file that we hold is still the one in the directory. It is not once somebody has cleaned up
    /// or replaced the directory under us: what we write then is lost.
    pub(super) fn is_in_place(&self) -> io::Result<bool> {
        let ours = self.file.file().metadata()?;
        match fs::metadata(&self.path) {
            Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What the lock file says of who holds it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text).map(|_| text.trim().parse::<u32>()) {
        Ok(Ok(pid)) if pid == process::id() => "this process".to_owned(),
        Ok(Ok(pid)) => format!("process {pid}"),
        Ok(Err(_)) | Err(_) => "holder unknown".to_owned(),
    }
}
