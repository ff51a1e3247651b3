//! Who an instance is: a name that stays with its state directory, from which the ids of its transactions are made.
//!
//! A process that comes back under the same ids ends what the one before left open; with other ids, the brokers would
//! wait for a time-out. Two processes with the same ids would end each other's transactions, so the name is locked; and
//! with it the directory, which each process has for itself, whether it makes transactions or not.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use kproc_store::FileLock;
use uuid::Uuid;

use super::error::RunError;
use crate::clock::Clock;

/// No processor has a name like this, so it can stand among their directories.
const FILE: &str = ".instance";

/// An instance's name, which nobody else uses as long as this lives.
#[derive(Debug)]
pub(super) struct Identity {
    name: Uuid,
    _lock: FileLock,
}

impl Identity {
    /// The identity that belongs to this directory; a new one, if it has none yet.
    pub(super) fn take(directory: &Path, clock: &dyn Clock) -> Result<Self, RunError> {
        let path = directory.join(FILE);
        let fault = |error: io::Error| RunError::Directory {
            path: path.clone(),
            reason: error.to_string(),
        };
        fs::create_dir_all(directory).map_err(fault)?;
        let Ok(lock) = FileLock::take(&path).map_err(fault)? else {
            return Err(in_use(path));
        };
        let mut file = lock.file();
        let mut text = String::new();
        let read = file.read_to_string(&mut text);
        // What is not a name, such as what a crash has left half-written, is replaced: a name is worth no more than a
        // time-out.
        let name = match read.map(|_| text.trim().parse::<Uuid>()) {
            Ok(Ok(name)) => name,
            Ok(Err(_)) => new_name(file, clock).map_err(fault)?,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                new_name(file, clock).map_err(fault)?
            }
            Err(error) => return Err(fault(error)),
        };
        Ok(Self { name, _lock: lock })
    }

    /// The id of a worker's transactions.
    pub(super) fn transactional_id(&self, app: &str, worker: usize) -> String {
        format!("{app}-{}-{worker}", self.name)
    }
}

fn new_name(mut file: &File, clock: &dyn Clock) -> io::Result<Uuid> {
    let random = u128::from(clock.random()) << 64 | u128::from(clock.random());
    let name = uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid();
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{name}")?;
    Ok(name)
}

#[cold]
fn in_use(path: PathBuf) -> RunError {
    RunError::Directory {
        path,
        reason: "another process uses this state directory; give each process one of its own (`--state-dir`)"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;

    #[test]
    fn a_name_stays_with_its_directory_and_is_one_instances_only() {
        let (clock, directory) = (SystemClock::new(), tempfile::tempdir().unwrap());
        let directory = directory.path().join("app");
        let first = Identity::take(&directory, &clock).unwrap();
        let id = first.transactional_id("app", 3);
        assert!(id.starts_with("app-") && id.ends_with("-3"), "{id}");
        let refused = Identity::take(&directory, &clock).unwrap_err().to_string();
        assert!(
            refused.contains("another process") && refused.contains("--state-dir"),
            "{refused}"
        );
        drop(first);
        assert_eq!(
            Identity::take(&directory, &clock)
                .unwrap()
                .transactional_id("app", 3),
            id
        );
    }

    #[test]
    fn a_name_that_was_half_written_is_replaced() {
        let (clock, directory) = (SystemClock::new(), tempfile::tempdir().unwrap());
        fs::write(directory.path().join(FILE), b"0192-\xff").unwrap();
        let first = Identity::take(directory.path(), &clock).unwrap().name;
        assert_eq!(Identity::take(directory.path(), &clock).unwrap().name, first);
    }
}
