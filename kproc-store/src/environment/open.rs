//! Opening an environment: what is found, whether it can be trusted, and what is done about it.

use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    sync::{Arc, Mutex, atomic::AtomicUsize},
};

use super::{
    Condition, Environment, EnvironmentOptions, Inner, Opened,
    directory::{self, DATA},
    file::{self, Look},
    lock::DirectoryLock,
    sidecar::{FORMAT, Found, Sidecar},
    start::{Failure, Reason, Started, start},
};
use crate::{OpenError, StoreSpec, Timestamp};

/// So many ends in a row, without a write between, make us look at every page.
const SUSPICIOUS: u32 = 2;

/// What is in a directory.
enum Verdict {
    /// Nothing.
    New,
    /// A state that can be opened.
    Good(Sidecar),
    /// A state that cannot be trusted.
    Bad(Reason),
}

pub(super) fn open(
    directory: &Path,
    stores: &[StoreSpec],
    options: &EnvironmentOptions,
    now: Timestamp,
) -> Result<Opened, OpenError> {
    let io = |what: &'static str| move |error: io::Error| OpenError::io(directory, what, &error);
    check_names(directory, stores)?;
    fs::create_dir_all(directory).map_err(io("making the directory"))?;
    if let Some(kind) = directory::network_kind(directory).map_err(io("asking for the file system"))? {
        return Err(OpenError::NetworkFileSystem {
            path: directory.to_owned(),
            kind,
        });
    }
    let lock = DirectoryLock::take(directory)?;
    super::descriptors::reserve();
    let mut dirty = Sidecar::dirty(directory, options.sync).map_err(io("asking for the device"))?;

    let judged = judge(directory, &dirty)?;
    if let Verdict::Good(before) = &judged {
        dirty.deaths = before.deaths_before();
    }
    let finish = {
        let sidecar = dirty.clone();
        |lmdb: Started| Environment {
            inner: Arc::new(Inner {
                lmdb,
                directory: directory.to_owned(),
                specs: stores.to_vec(),
                options: EnvironmentOptions {
                    // LMDB takes 4 GiB; lengths and what is made of them have to fit 32 bits here, too.
                    max_value_bytes: options.max_value_bytes.min(i32::MAX as usize),
                    ..options.clone()
                },
                opened_at: now,
                sidecar: Mutex::new(sidecar),
                readers: AtomicUsize::new(0),
                gate: Mutex::new(()),
                lock,
            }),
        }
    };
    let reason = match judged {
        Verdict::Good(before) => {
            // One that vouches for the state must not come back after a restart of the machine.
            let durable = !options.temporary || before.clean || before.sync;
            dirty
                .write(directory, durable)
                .map_err(io("writing its sidecar"))?;
            match start(directory, stores, options, Some(now)) {
                Ok(started) => {
                    let environment = finish(started);
                    return Ok(Opened {
                        environment,
                        condition: Condition::Intact,
                    });
                }
                Err(Failure::Bad(reason)) => Some(reason),
                Err(Failure::Error(error)) => {
                    // It fails before anything is written: what was clean still is.
                    before
                        .write(directory, durable)
                        .map_err(io("writing its sidecar"))?;
                    return Err(error);
                }
            }
        }
        Verdict::New => None,
        Verdict::Bad(reason) => Some(reason),
    };

    let set_aside = match &reason {
        Some(Reason { keep: true, .. }) => {
            Some(directory::set_data_aside(directory).map_err(io("setting the damaged file aside"))?)
        }
        _ => None,
    };
    directory::remove_data(directory).map_err(io("removing the old files"))?;
    // After a rebuild it begins anew.
    let dirty = Sidecar { deaths: 0, ..dirty };
    dirty
        .write(directory, !options.temporary || reason.is_some())
        .map_err(io("writing its sidecar"))?;
    let started = match start(directory, stores, options, None) {
        Ok(started) => started,
        Err(Failure::Error(error)) => return Err(error),
        Err(Failure::Bad(reason)) => {
            return Err(OpenError::Io {
                path: directory.to_owned(),
                what: reason.what,
            });
        }
    };
    let environment = finish(started);
    let condition = match reason {
        Some(Reason { what, .. }) => Condition::Rebuild {
            reason: what,
            set_aside,
        },
        None => Condition::New,
    };
    Ok(Opened {
        environment,
        condition,
    })
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
    let sidecar = match Sidecar::read(directory).map_err(io("reading its sidecar"))? {
        Found::Newer(found) => {
            return Err(OpenError::NewerFormat {
                path: directory.to_owned(),
                found,
                known: FORMAT,
            });
        }
        Found::Missing if exists => {
            let what = "nothing says under which circumstances the data file was written";
            return Ok(Verdict::Bad(Reason::damaged(what.into())));
        }
        Found::Missing => return Ok(Verdict::New),
        Found::Unreadable(why) if exists => {
            return Ok(Verdict::Bad(Reason::damaged(format!(
                "the sidecar file is damaged: {why}"
            ))));
        }
        Found::Sidecar(_) | Found::Unreadable(_) if !exists => {
            return Ok(Verdict::Bad(Reason::outdated("the data file is gone".into())));
        }
        Found::Unreadable(_) => unreachable!("both cases are above"),
        Found::Sidecar(sidecar) => sidecar,
    };
    if let Some(damage) = sidecar.damage {
        return Ok(Verdict::Bad(Reason::damaged(damage)));
    }
    if let Some(doubt) = sidecar.doubt(now) {
        return Ok(Verdict::Bad(Reason::outdated(doubt)));
    }
    // A process that dies again and again before it has done anything may do so over a damaged page.
    let look = if sidecar.deaths_before() < SUSPICIOUS {
        Look::Quick
    } else {
        Look::Thorough
    };
    match file::problem(&data, look).map_err(io("reading the data file"))? {
        Some(problem) => Ok(Verdict::Bad(Reason::damaged(problem))),
        None => Ok(Verdict::Good(sidecar)),
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
