//! Who an instance is: a name that stays with its state directory, from which the ids of its transactions are made.
//!
//! A process that comes back under the same ids ends what the one before left open; with other ids, the brokers would
//! wait for a time-out. Two processes with the same ids would end each other's transactions, so the name is locked; and
//! with it the directory, which each process has for itself, whether it makes transactions or not.
//!
//! A copy of a directory is another directory, which no lock knows of. So the file with the name tells which file it was
//! written to; if that is another one, the directory was copied, and takes a name of its own. What is lost by that is a
//! time-out: if the former process has left a transaction open, nobody comes back under its id. Where file systems do not
//! keep what tells files apart (`EnvironmentOptions::original`), each start takes a new name, and loses no more. A copy of
//! a whole volume has the same files: there, whoever is fenced again and again ends.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use kproc_store::{EnvironmentOptions, FileLock};
use uuid::Uuid;

use super::error::RunError;
use crate::clock::Clock;

/// No processor has a name like this, so it can stand among their directories.
const FILE: &str = ".instance";

/// An instance's name, which nobody else uses as long as this lives.
#[derive(Debug)]
pub(super) struct Identity {
    name: Uuid,
    /// The name is a new one, for the directory is a copy of this one's.
    copied: Option<Uuid>,
    _lock: FileLock,
}

impl Identity {
    /// The identity that belongs to this directory; a new one, if it has none yet, or that of another directory.
    pub(super) fn take(
        directory: &Path,
        disk: &EnvironmentOptions,
        clock: &dyn Clock,
    ) -> Result<Self, RunError> {
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
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(fault)?;
        let found = Record::read(&text);
        let here = disk.original(file);
        let copied = found
            .as_ref()
            .filter(|found| found.is_of_another(here.as_deref()))
            .map(|found| found.name);
        let kept = found.filter(|_| copied.is_none());
        let is_complete = kept
            .as_ref()
            .is_some_and(|kept| kept.original.is_some() || here.is_none());
        let name = kept.map_or_else(|| new_name(clock), |kept| kept.name);
        if !is_complete {
            Record { name, original: here }.write(file).map_err(fault)?;
        }
        Ok(Self {
            name,
            copied,
            _lock: lock,
        })
    }

    /// Whose name the directory had, if it is a copy of that one's.
    pub(super) fn copied(&self) -> Option<Uuid> {
        self.copied
    }

    /// The id of a worker's transactions.
    pub(super) fn transactional_id(&self, app: &str, worker: usize) -> String {
        format!("{app}-{}-{worker}", self.name)
    }

    /// The id with which it is tried whether transactions may be made.
    pub(super) fn trial_id(&self, app: &str) -> String {
        format!("{app}-{}-trial", self.name)
    }
}

/// What the file says: a name, and what tells the file that it was written to from others. Those of former versions have the
/// name only, and nothing behind it.
struct Record {
    name: Uuid,
    original: Option<String>,
}

impl Record {
    /// What is none, such as what a crash has left half-written, is replaced: a name is worth no more than a time-out.
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (name, original) = match text.split_once(' ') {
            Some((name, rest)) => (name, rest.strip_suffix('\n').map(str::to_owned)),
            None => (text, None),
        };
        let name = name.trim().parse().ok()?;
        Some(Self { name, original })
    }

    fn is_of_another(&self, here: Option<&str>) -> bool {
        let then_and_now = self.original.as_deref().zip(here);
        then_and_now.is_some_and(|(then, now)| then != now)
    }

    /// Into the file as it is, which is locked, and of which it tells: not by a new one in its place. A name that was there
    /// stays readable in every moment, and what is behind it counts once its line is ended.
    fn write(&self, mut file: &File) -> io::Result<()> {
        let mut text = self.name.to_string();
        if let Some(original) = &self.original {
            text = format!("{text} {original}\n");
        }
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }
}

fn new_name(clock: &dyn Clock) -> Uuid {
    let random = u128::from(clock.random()) << 64 | u128::from(clock.random());
    uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid()
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

    fn take(directory: &Path) -> Result<Identity, RunError> {
        Identity::take(directory, &EnvironmentOptions::default(), &SystemClock::new())
    }

    #[test]
    fn a_name_stays_with_its_directory_and_is_one_instances_only() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("app");
        let first = take(&directory).unwrap();
        let id = first.transactional_id("app", 3);
        assert!(id.starts_with("app-") && id.ends_with("-3"), "{id}");
        let refused = take(&directory).unwrap_err().to_string();
        assert!(
            refused.contains("another process") && refused.contains("--state-dir"),
            "{refused}"
        );
        drop(first);
        assert_eq!(take(&directory).unwrap().transactional_id("app", 3), id);
    }

    #[test]
    fn a_name_that_was_half_written_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE), b"0192-\xff").unwrap();
        let first = take(directory.path()).unwrap().name;
        assert_eq!(take(directory.path()).unwrap().name, first);
    }

    #[test]
    fn a_directory_that_was_moved_keeps_its_name_and_a_copy_takes_another() {
        let directory = tempfile::tempdir().unwrap();
        let [one, moved, copy] = ["one", "moved", "copy"].map(|name| directory.path().join(name));
        let name = take(&one).unwrap().name;
        fs::rename(&one, &moved).unwrap();
        let original = take(&moved).unwrap();
        assert_eq!((original.name, original.copied), (name, None));

        // Also while the one is in use.
        fs::create_dir(&copy).unwrap();
        fs::copy(moved.join(FILE), copy.join(FILE)).unwrap();
        let copied = take(&copy).unwrap();
        assert_ne!(copied.name, name);
        assert_eq!(copied.copied, Some(name));
        let own = copied.name;
        drop(copied);
        let again = take(&copy).unwrap();
        assert_eq!(
            (again.name, again.copied),
            (own, None),
            "it is its own from now on"
        );
    }

    /// By former versions, which did not say which file they wrote to; and by one that was killed over it.
    #[test]
    fn a_name_with_nothing_behind_it_is_kept_and_completed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let name = take(directory.path()).unwrap().name;
        let whole = fs::read_to_string(&file).unwrap();
        for half in [
            name.to_string(),
            whole[..40].to_owned(),
            whole.trim_end().to_owned(),
        ] {
            fs::write(&file, &half).unwrap();
            let found = take(directory.path()).unwrap();
            assert_eq!((found.name, found.copied), (name, None), "{half}");
            assert_eq!(fs::read_to_string(&file).unwrap(), whole, "{half}");
        }
    }
}
