//! Opening an environment: what is found, whether it can be trusted, and what is done about it.

use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    sync::{Arc, Mutex, OnceLock, atomic::AtomicUsize},
};

use super::{
    Condition, DiskStep, Environment, EnvironmentOptions, Inner, Opened,
    directory::{self, DATA},
    file::{self, Look},
    lock::DirectoryLock,
    sidecar::{FORMAT, Found, Sidecar},
    start::{Failure, Reason, Started, start},
};
use crate::{OpenError, StoreSpec};

/// So many ends in a row make us look at every page: the processes may have died over a damaged one, whatever they have
/// written before. Those that were killed for other reasons pay for it, too; so not each time, and not after long work.
const SUSPICIOUS: u32 = 3;

/// What is in a directory.
enum Verdict {
    /// Nothing.
    New,
    /// A state that can be opened, looked at like this.
    Good(Sidecar, Look),
    /// A state that cannot be trusted.
    Bad(Reason),
}

pub(super) fn open(
    directory: &Path,
    stores: &[StoreSpec],
    options: &EnvironmentOptions,
) -> Result<Opened, OpenError> {
    let io = |what: &'static str| move |error: io::Error| OpenError::io(directory, what, &error);
    check_names(directory, stores)?;
    let made = options.allow(DiskStep::MakeDirectory);
    made.and_then(|()| fs::create_dir_all(directory))
        .map_err(io("making the directory"))?;
    if let Some(kind) = directory::network_kind(directory).map_err(io("asking for the file system"))? {
        return Err(OpenError::NetworkFileSystem {
            path: directory.to_owned(),
            kind,
        });
    }
    let lock = DirectoryLock::take(directory)?;
    super::descriptors::reserve();
    let sidecar = Sidecar::dirty(directory, options).map_err(io("asking for the device"))?;
    let opening = Opening {
        directory,
        stores,
        options,
        sidecar,
    };
    match judge(directory, &opening.sidecar)? {
        Verdict::New => opening.begin(None, lock),
        Verdict::Bad(reason) => opening.begin(Some(reason), lock),
        Verdict::Good(before, look) => match opening.go_on(&before, look)? {
            Ok((lmdb, sidecar)) => {
                let environment = opening.finish(lmdb, sidecar, lock);
                Ok(Opened {
                    environment,
                    condition: Condition::Intact,
                })
            }
            Err(reason) => opening.begin(Some(reason), lock),
        },
    }
}

/// An opening, once the directory is locked.
struct Opening<'o> {
    directory: &'o Path,
    stores: &'o [StoreSpec],
    options: &'o EnvironmentOptions,
    /// That of an environment begun here and now.
    sidecar: Sidecar,
}

impl Opening<'_> {
    /// Opens what is there. If it cannot be trusted after all, says why.
    fn go_on(&self, before: &Sidecar, look: Look) -> Result<Result<(Started, Sidecar), Reason>, OpenError> {
        let deaths = match look {
            Look::Quick => before.deaths_before(),
            Look::Thorough => 0,
        };
        let sidecar = Sidecar {
            deaths,
            made: true,
            // What was written before without a sync is not on the disk because what comes later is.
            sync: self.sidecar.sync && (before.clean || before.sync),
            ..self.sidecar.clone()
        };
        // One that vouches for the state must not come back after a restart of the machine.
        let durable = !self.options.temporary || before.clean || before.sync;
        self.write(&sidecar, durable)?;
        match start(self.directory, self.stores, self.options, true) {
            Ok(lmdb) => Ok(Ok((lmdb, sidecar))),
            Err(Failure::Bad(reason)) => Ok(Err(reason)),
            Err(Failure::Error(error)) => {
                // It fails before anything is written: what was clean still is.
                self.write(before, durable)?;
                Err(error)
            }
        }
    }

    /// Begins with nothing. `reason`: why not with what is there.
    fn begin(self, reason: Option<Reason>, lock: DirectoryLock) -> Result<Opened, OpenError> {
        let directory = self.directory;
        let io = |what: &'static str| move |error: io::Error| OpenError::io(directory, what, &error);
        if let Some(Reason { what, .. }) = &reason {
            // Before anything is done about it, which may fail, and then nobody would say why it was tried.
            tracing::warn!(path = %directory.display(), reason = what, "the state there cannot be used, and is made anew");
        }
        let set_aside = match &reason {
            Some(Reason { keep: true, .. }) => {
                let allowed = self.options.allow(DiskStep::SetAside);
                let set_aside = allowed.and_then(|()| directory::set_data_aside(directory));
                Some(set_aside.map_err(io("setting the damaged file aside"))?)
            }
            _ => None,
        };
        let allowed = self.options.allow(DiskStep::Remove);
        allowed
            .and_then(|()| directory::remove_data(directory))
            .map_err(io("removing the old files"))?;
        let durable = !self.options.temporary || reason.is_some();
        self.write(&self.sidecar, durable)?;
        let lmdb = start(directory, self.stores, self.options, false).map_err(|failure| match failure {
            Failure::Error(error) => error,
            Failure::Bad(Reason { what, .. }) => OpenError::Io {
                path: directory.to_owned(),
                what,
            },
        })?;
        let condition = match reason {
            Some(Reason { what, .. }) => Condition::Rebuild {
                reason: what,
                set_aside,
            },
            None => Condition::New,
        };
        let sidecar = Sidecar {
            made: true,
            ..Sidecar::dirty(directory, self.options).map_err(io("asking for the device"))?
        };
        self.write(&sidecar, durable)?;
        Ok(Opened {
            environment: self.finish(lmdb, sidecar, lock),
            condition,
        })
    }

    fn finish(self, lmdb: Started, sidecar: Sidecar, lock: DirectoryLock) -> Environment {
        let options = EnvironmentOptions {
            // LMDB takes 4 GiB; lengths and what is made of them have to fit 32 bits here, too.
            max_value_bytes: self.options.max_value_bytes.min(i32::MAX as usize),
            ..self.options.clone()
        };
        Environment {
            inner: Arc::new(Inner {
                lmdb,
                directory: self.directory.to_owned(),
                specs: self.stores.to_vec(),
                options,
                sidecar: Mutex::new(sidecar),
                at_work_since: OnceLock::new(),
                readers: AtomicUsize::new(0),
                gate: Mutex::new(()),
                lock,
            }),
        }
    }

    fn write(&self, sidecar: &Sidecar, durable: bool) -> Result<(), OpenError> {
        let written = sidecar.write(self.directory, durable, self.options);
        written.map_err(|error| OpenError::io(self.directory, "writing its sidecar", &error))
    }
}

/// Store names are names of databases, directories' contents and topics.
fn check_names(directory: &Path, stores: &[StoreSpec]) -> Result<(), OpenError> {
    let mut names = BTreeSet::new();
    for StoreSpec { name, .. } in stores {
        let what = if name.is_empty() || name.len() > 200 || name.contains('\0') {
            format!("a store cannot be named {name:?}: a name has 1 to 200 bytes, none of them zero")
        } else if !names.insert(name) {
            format!("two stores are named `{name}`")
        } else {
            continue;
        };
        return Err(OpenError::Io {
            path: directory.to_owned(),
            what,
        });
    }
    Ok(())
}

/// Looks at the files without LMDB, and without changing anything.
fn judge(directory: &Path, now: &Sidecar) -> Result<Verdict, OpenError> {
    let io = |what: &'static str| move |error: io::Error| OpenError::io(directory, what, &error);
    let data = directory.join(DATA);
    let exists = data.try_exists().map_err(io("looking for the data file"))?;
    let found = Sidecar::read(directory).map_err(io("reading its sidecar"))?;
    let sidecar = match (found, exists) {
        (Found::Newer(found), _) => {
            return Err(OpenError::NewerFormat {
                path: directory.to_owned(),
                found,
                known: FORMAT,
            });
        }
        (Found::Missing, false) => return Ok(Verdict::New),
        (Found::Sidecar(sidecar), _) if !sidecar.made => return Ok(Verdict::New),
        (Found::Missing, true) => {
            let what = "nothing says under which circumstances the data file was written";
            return Ok(Verdict::Bad(Reason::damaged(what.into())));
        }
        (Found::Sidecar(_) | Found::Unreadable(_), false) => {
            return Ok(Verdict::Bad(Reason::outdated("the data file is gone".into())));
        }
        (Found::Unreadable(why), true) => {
            let what = format!("the sidecar file is damaged: {why}");
            return Ok(Verdict::Bad(Reason::damaged(what)));
        }
        (Found::Sidecar(sidecar), true) => sidecar,
    };
    if let Some(damage) = sidecar.damage {
        return Ok(Verdict::Bad(Reason::damaged(damage)));
    }
    if let Some(doubt) = sidecar.doubt(now) {
        return Ok(Verdict::Bad(doubt));
    }
    let path = directory.display();
    let look = if sidecar.deaths_before() >= SUSPICIOUS {
        tracing::info!(%path, "{SUSPICIOUS} processes in a row have ended without closing it: every page is looked at");
        Look::Thorough
    } else if sidecar.is_of_another(now) {
        // It may have been in use before it was copied to the end.
        tracing::info!(%path, "it is a copy: every page is looked at");
        Look::Thorough
    } else {
        Look::Quick
    };
    match file::problem(&data, look).map_err(io("reading the data file"))? {
        Some(problem) => Ok(Verdict::Bad(Reason::damaged(problem))),
        None => Ok(Verdict::Good(sidecar, look)),
    }
}

/// Removes an environment's files. Whether there were any.
pub(super) fn remove(directory: &Path) -> Result<bool, OpenError> {
    let io = |what: &'static str| move |error: io::Error| OpenError::io(directory, what, &error);
    if !directory.try_exists().map_err(io("looking for it"))? {
        return Ok(false);
    }
    let lock = DirectoryLock::take(directory)?;
    let existed = directory
        .join(DATA)
        .try_exists()
        .map_err(io("looking for the data file"))?;
    directory::remove_data(directory)
        .and_then(|()| directory::remove_set_aside(directory))
        .and_then(|()| Sidecar::remove(directory))
        .map_err(io("removing its files"))?;
    lock.remove().map_err(io("removing its lock file"))?;
    match fs::remove_dir(directory) {
        // Somebody keeps something else there.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
        result => result.map_err(io("removing the directory"))?,
    }
    Ok(existed)
}
