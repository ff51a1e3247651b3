//! A small file beside LMDB that says whether LMDB's file can be trusted.
//!
//! Without a sync per commit, LMDB's file survives the death of the process (the kernel has every byte that was
//! written) but not that of the machine. Damage by the latter is silent: old and new pages mix. So the file says
//! whether the environment was closed in good order, and otherwise under which boot of which machine, on which
//! device, it was written. And it says which file it speaks of, and of which moment of that. It cannot be kept inside what it
//! judges.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{
    EnvironmentOptions,
    directory::{self, DATA},
    file,
    start::Reason,
};

/// The newest format of the state directory that this version reads, and the one it writes.
pub(crate) const FORMAT: u32 = 1;

const FILE: &str = "state.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sidecar {
    pub(crate) format: u32,
    /// Identifies the boot, where the system tells it.
    pub(crate) boot: Option<String>,
    /// The device that the directory is on.
    pub(crate) device: u64,
    /// Whether every commit is synced.
    pub(crate) sync: bool,
    /// Whether the environment was closed, synced, after the last write.
    pub(crate) clean: bool,
    /// How many times in a row, now included, it was opened after an end without a close, since all pages were looked at, or a
    /// process had worked with it for long. What was written meanwhile tells nothing of the pages that were not touched.
    #[serde(default)]
    pub(crate) deaths: u32,
    /// What was found to be damaged while the environment was used.
    #[serde(default)]
    pub(crate) damage: Option<String>,
    /// What tells LMDB's file from copies of it, where the system tells that.
    #[serde(default)]
    pub(crate) data: Option<String>,
    /// And this file, as which it was written. Each time that it is written it is another one.
    #[serde(default)]
    pub(crate) itself: Option<String>,
    /// LMDB's last transaction when it was opened, or after it was closed, where we can read that.
    #[serde(default)]
    pub(crate) transaction: Option<u64>,
    /// Whether LMDB's file has its databases: until then it has nothing to lose, whatever it looks like.
    #[serde(default = "yes")]
    pub(crate) made: bool,
}

/// Of sidecars that do not say so: they were written before this was.
fn yes() -> bool {
    true
}

/// What is in the sidecar's place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Missing,
    Sidecar(Sidecar),
    Newer(u32),
    Unreadable(String),
}

impl Sidecar {
    /// The sidecar of an environment that is about to be made, here and now; of one that is there: what is to be compared with
    /// its sidecar.
    pub(crate) fn dirty(directory: &Path, options: &EnvironmentOptions) -> io::Result<Self> {
        let device = directory::device(directory)?;
        let original = |file| options.original(&File::open(directory.join(file)).ok()?);
        Ok(Self {
            format: FORMAT,
            boot: options.boot(),
            device,
            sync: options.sync,
            clean: false,
            deaths: 0,
            damage: None,
            data: original(DATA),
            itself: original(FILE),
            transaction: file::last_transaction(&directory.join(DATA)),
            made: false,
        })
    }

    pub(crate) fn read(directory: &Path) -> io::Result<Found> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let bytes = match fs::read(directory.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
            Err(error) => return Err(error),
        };
        Ok(match serde_json::from_slice::<Format>(&bytes) {
            Ok(Format { format }) if format > FORMAT => Found::Newer(format),
            Ok(_) => match serde_json::from_slice(&bytes) {
                Ok(sidecar) => Found::Sidecar(sidecar),
                Err(error) => Found::Unreadable(error.to_string()),
            },
            Err(error) => Found::Unreadable(error.to_string()),
        })
    }

    /// Writes it. If `durable`, it is on the disk when this returns; else a restart of the machine may take it
    /// away, or back.
    pub(crate) fn write(
        &self,
        directory: &Path,
        durable: bool,
        options: &EnvironmentOptions,
    ) -> io::Result<()> {
        let text = |file: &File| {
            let itself = options.original(file);
            serde_json::to_vec(&Self {
                itself,
                ..self.clone()
            })
            .map_err(io::Error::other)
        };
        directory::write(directory, FILE, text, durable, options)
    }

    pub(crate) fn remove(directory: &Path) -> io::Result<()> {
        directory::remove_if_there(&directory.join(FILE))
    }

    /// How many ends in a row the next opening has behind it.
    pub(crate) fn deaths_before(&self) -> u32 {
        if self.clean {
            0
        } else {
            self.deaths.saturating_add(1)
        }
    }

    /// Whether LMDB's file is a copy of the one that this was written for, where `now` is what [`Sidecar::dirty`] says here and
    /// now.
    pub(crate) fn is_of_another(&self, now: &Self) -> bool {
        differ(self.data.as_ref(), now.data.as_ref())
    }

    /// Why LMDB's file cannot be trusted, if so. What a machine does to it that dies comes before what only looks alike: after
    /// that the file may well be older than this.
    pub(crate) fn doubt(&self, now: &Self) -> Option<Reason> {
        if let Some(what) = self.doubt_unless_clean(now) {
            return Some(Reason::outdated(what));
        }
        let moments = self.transaction.zip(now.transaction);
        if moments.is_some_and(|(then, now)| now < then || self.clean && now > then) {
            let what = "the data file is of another moment than `state.json` beside it: one of the two was replaced, or copied later";
            return Some(Reason::damaged(what.to_owned()));
        }
        None
    }

    fn doubt_unless_clean(&self, now: &Self) -> Option<String> {
        if self.clean {
            return None;
        }
        if self.is_of_another(now) || differ(self.itself.as_ref(), now.itself.as_ref()) {
            let what = "its file is a copy, made while it was in use or after its process had died: it may be of no moment at all";
            return Some(what.to_owned());
        }
        if self.sync {
            return None;
        }
        let happened = if self.boot.is_none() || now.boot.is_none() {
            "this system does not tell whether the machine was restarted since"
        } else if self.boot != now.boot {
            "the machine was restarted since (power loss, or another host)"
        } else if self.device != now.device {
            "it is on another device now"
        } else {
            return None;
        };
        Some(format!("the state was not closed in good order, and {happened}"))
    }
}

/// Whether both are known, and not the same.
fn differ(then: Option<&String>, now: Option<&String>) -> bool {
    then.zip(now).is_some_and(|(then, now)| then != now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sidecar() -> Sidecar {
        Sidecar {
            format: FORMAT,
            boot: Some("a".into()),
            device: 1,
            sync: false,
            clean: false,
            deaths: 0,
            damage: None,
            data: Some("1-1".into()),
            itself: None,
            transaction: Some(7),
            made: true,
        }
    }

    #[test]
    fn a_copy_of_a_file_that_was_in_use_is_doubted_also_if_it_was_synced() {
        let now = sidecar();
        let copied = |data: Option<&str>, sync, clean| {
            let data = data.map(str::to_owned);
            let before = Sidecar {
                sync,
                clean,
                data,
                ..sidecar()
            };
            before.doubt(&now)
        };
        assert!(copied(Some("1-2"), false, false).is_some_and(|doubt| doubt.what.contains("a copy")));
        assert!(copied(Some("1-2"), true, false).is_some());
        assert_eq!(copied(Some("1-2"), false, true), None);
        assert_eq!(copied(None, false, false), None);
        let unknown = Sidecar {
            data: None,
            ..sidecar()
        };
        assert_eq!(sidecar().doubt(&unknown), None);
    }

    #[test]
    fn a_file_of_another_moment_is_doubted() {
        let doubt = |then: Option<u64>, now: Option<u64>, clean| {
            let [then, now] = [then, now].map(|transaction| Sidecar {
                clean,
                transaction,
                ..sidecar()
            });
            then.doubt(&now)
                .is_some_and(|doubt| doubt.what.contains("moment"))
        };
        // Closed: that one and no other. In use: that one, or what was committed since.
        for (now, after_close, in_use) in [(6, true, true), (7, false, false), (8, true, false)] {
            assert_eq!(doubt(Some(7), Some(now), true), after_close, "{now}");
            assert_eq!(doubt(Some(7), Some(now), false), in_use, "{now}");
        }
        assert!(!doubt(None, Some(8), true));
        assert!(!doubt(Some(8), None, true));
    }

    /// The sidecar is on the disk when the file is opened, and what a process that was killed had written before is not.
    #[test]
    fn what_a_power_loss_has_taken_is_not_told_as_a_file_that_was_replaced() {
        let then = Sidecar {
            boot: Some("b".into()),
            transaction: Some(8),
            ..sidecar()
        };
        let doubt = then.doubt(&sidecar()).unwrap();
        assert!(
            doubt.what.contains("restarted since (power loss"),
            "{}",
            doubt.what
        );
        assert!(!doubt.keep, "it tells nobody anything");
    }

    #[test]
    fn only_a_dirty_unsynced_state_of_another_boot_or_device_is_doubted() {
        let now = sidecar();
        assert_eq!(sidecar().doubt(&now), None);
        for other in [
            Sidecar {
                boot: Some("b".into()),
                ..sidecar()
            },
            Sidecar {
                boot: None,
                ..sidecar()
            },
            Sidecar {
                device: 2,
                ..sidecar()
            },
        ] {
            assert!(other.doubt(&now).is_some());
            assert_eq!(
                Sidecar {
                    clean: true,
                    ..other.clone()
                }
                .doubt(&now),
                None
            );
            assert_eq!(Sidecar { sync: true, ..other }.doubt(&now), None);
        }
    }

    #[test]
    fn a_newer_format_is_told_from_rubbish() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(Sidecar::read(path).unwrap(), Found::Missing);
        let options = EnvironmentOptions::default();
        sidecar().write(path, true, &options).unwrap();
        let Found::Sidecar(found) = Sidecar::read(path).unwrap() else {
            panic!("it was written")
        };
        assert_eq!(found.itself, Sidecar::dirty(path, &options).unwrap().itself);
        assert_eq!(
            Sidecar {
                itself: None,
                ..found
            },
            sidecar()
        );
        fs::write(path.join(FILE), r#"{"format":9,"anything":"else"}"#).unwrap();
        assert_eq!(Sidecar::read(path).unwrap(), Found::Newer(9));
        for rubbish in ["", "{", r#"{"format":1}"#] {
            fs::write(path.join(FILE), rubbish).unwrap();
            assert!(
                matches!(Sidecar::read(path).unwrap(), Found::Unreadable(_)),
                "{rubbish}"
            );
        }
    }
}
