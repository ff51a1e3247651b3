//! Opening an environment: what is found, whether it can be trusted, and what is done about it.

use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    sync::{Arc, Mutex, atomic::AtomicUsize},
};

use heed::{
    CommitOrAbort, CommitToken, Database, Env, EnvFlags, EnvOpenOptions, MdbError, OnCommit, WithoutTls,
    types::Bytes,
};

use super::{
    Condition, Environment, EnvironmentOptions, Inner, Opened, StoreDatabase,
    directory::{self, DATA},
    lock::DirectoryLock,
    meta::{self, Meta, Types},
    precheck,
    sidecar::{FORMAT, Found, Sidecar},
};
use crate::{OpenError, StoreSpec, Timestamp};

/// What is in a directory.
enum Verdict {
    /// Nothing.
    New,
    /// A state that can be opened.
    Good(Sidecar),
    /// A state that cannot be trusted.
    Bad(Reason),
}

/// Why a state cannot be trusted.
struct Reason {
    what: String,
    /// Whether the files may tell somebody something.
    keep: bool,
}

impl Reason {
    fn outdated(what: String) -> Self {
        Self { what, keep: false }
    }

    fn damaged(what: String) -> Self {
        Self { what, keep: true }
    }
}

/// Why LMDB could not be opened.
enum Failure {
    /// The state cannot be trusted.
    Bad(Reason),
    /// It cannot be opened and must not be touched.
    Error(OpenError),
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::Error(error)
    }
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
    let dirty = Sidecar::dirty(directory, options.sync).map_err(io("asking for the device"))?;

    let reason = match judge(directory, &dirty)? {
        Verdict::Good(before) => {
            dirty.write(directory).map_err(io("writing its sidecar"))?;
            match start(directory, stores, options, Some(now)) {
                Ok(parts) => {
                    let environment = parts.finish(directory, options, now, dirty, lock);
                    return Ok(Opened {
                        environment,
                        condition: Condition::Intact,
                    });
                }
                Err(Failure::Bad(reason)) => Some(reason),
                Err(Failure::Error(error)) => {
                    // Nothing was written: what was clean still is.
                    before.write(directory).map_err(io("writing its sidecar"))?;
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
    dirty.write(directory).map_err(io("writing its sidecar"))?;
    let parts = match start(directory, stores, options, None) {
        Ok(parts) => parts,
        Err(Failure::Error(error)) => return Err(error),
        Err(Failure::Bad(reason)) => {
            return Err(OpenError::Io {
                path: directory.to_owned(),
                what: reason.what,
            });
        }
    };
    let environment = parts.finish(directory, options, now, dirty, lock);
    let condition = match reason {
        Some(Reason { what, .. }) => {
            tracing::warn!(path = %directory.display(), reason = what, "the local state is rebuilt");
            Condition::Rebuild {
                reason: what,
                set_aside,
            }
        }
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
    if let Some(doubt) = sidecar.doubt(now) {
        return Ok(Verdict::Bad(Reason::outdated(doubt)));
    }
    match precheck::problem(&data).map_err(io("reading the data file"))? {
        Some(problem) => Ok(Verdict::Bad(Reason::damaged(problem))),
        None => Ok(Verdict::Good(sidecar)),
    }
}

/// An environment in the making.
struct Parts {
    env: Env<WithoutTls>,
    meta: Meta,
    stores: Vec<StoreDatabase>,
}

impl Parts {
    fn finish(
        self,
        directory: &Path,
        options: &EnvironmentOptions,
        now: Timestamp,
        sidecar: Sidecar,
        lock: DirectoryLock,
    ) -> Environment {
        Environment {
            inner: Arc::new(Inner {
                env: self.env,
                directory: directory.to_owned(),
                meta: self.meta,
                stores: self.stores,
                options: options.clone(),
                opened_at: now,
                sidecar,
                readers: AtomicUsize::new(0),
                gate: Mutex::new(()),
                lock,
            }),
        }
    }
}

/// Opens LMDB and its databases. `now`: the state is expected to be there, and not too old.
fn start(
    directory: &Path,
    stores: &[StoreSpec],
    options: &EnvironmentOptions,
    now: Option<Timestamp>,
) -> Result<Parts, Failure> {
    let env = open_lmdb(directory, options, stores.len())?;
    // Anything that LMDB finds wrong from here on is damage, if there was something before.
    let fault = |error: heed::Error| match damage(&error) {
        Some(what) if now.is_some() => Failure::Bad(Reason::damaged(what)),
        _ => Failure::Error(OpenError::io(directory, "LMDB", &error)),
    };
    let checksum = match now {
        Some(now) => {
            let known = read_meta(directory, &env, stores).map_err(fault)??;
            let age = known
                .fresh
                .map_or_else(Default::default, |fresh| now.since(fresh));
            if age > options.tombstone_retention {
                return Err(Failure::Bad(Reason::outdated(format!(
                    "the state is {} hours old, and its changelogs keep deletions for {} hours only",
                    age.as_secs() / 3600,
                    options.tombstone_retention.as_secs() / 3600
                ))));
            }
            if known.checksum != options.checksum {
                let (path, checksum) = (directory.display(), known.checksum);
                tracing::info!(%path, checksum, "the state was made with another `checksum` option and keeps it");
            }
            known.checksum
        }
        None => options.checksum,
    };
    let (meta, databases) = make_databases(&env, stores, checksum).map_err(fault)?;
    let stores = stores
        .iter()
        .zip(databases)
        .map(|(spec, database)| StoreDatabase {
            name: Arc::from(&*spec.name),
            database,
            checksum,
        })
        .collect();
    Ok(Parts { env, meta, stores })
}

fn open_lmdb(
    directory: &Path,
    options: &EnvironmentOptions,
    stores: usize,
) -> Result<Env<WithoutTls>, Failure> {
    let mut lmdb = EnvOpenOptions::new().read_txn_without_tls();
    lmdb.map_size(whole_pages(options.map_size))
        .max_readers(MAX_READERS)
        .max_dbs(stores as u32 + 1);
    if !options.sync {
        // SAFETY: without a sync per commit, the file is consistent as long as the machine runs; the sidecar sees
        // to it that a file that a machine died over is not opened again.
        unsafe { lmdb.flags(EnvFlags::NO_SYNC) };
    }
    // SAFETY: the file is ours alone to write (the directory's lock is held), on a local file system, was checked
    // to be as long as its header says, and is changed only through LMDB for as long as it is mapped.
    unsafe { lmdb.open(directory) }.map_err(|error| match damage(&error) {
        Some(what) => Failure::Bad(Reason::damaged(what)),
        None => Failure::Error(OpenError::io(directory, "LMDB", &error)),
    })
}

/// Readers at one time: the stores' own, and those of processes that look in.
const MAX_READERS: u32 = 1024;

/// What LMDB says, if it says that the file is damaged.
fn damage(error: &heed::Error) -> Option<String> {
    match error {
        heed::Error::Mdb(
            error @ (MdbError::Invalid
            | MdbError::VersionMismatch
            | MdbError::Corrupted
            | MdbError::PageNotFound
            | MdbError::Incompatible
            | MdbError::Panic
            | MdbError::Problem),
        ) => Some(format!("the data file is damaged: {error}")),
        heed::Error::Decoding(error) => Some(format!("the data file is damaged: {error}")),
        _ => None,
    }
}

/// What an environment says of itself.
struct Known {
    checksum: bool,
    fresh: Option<Timestamp>,
}

/// Reads what the environment says of itself, and compares types.
fn read_meta(
    directory: &Path,
    env: &Env<WithoutTls>,
    stores: &[StoreSpec],
) -> heed::Result<Result<Known, Failure>> {
    let none = || Failure::Bad(Reason::damaged("the data file is not one of kproc's".into()));
    let opened = env.open_databases_and_commit(env.read_txn()?, |opener, txn| {
        let database = opener.open_database::<Bytes, Bytes>(txn, Some(meta::DATABASE))?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(database))
    })?;
    let CommitOrAbort::Commit(Some(database)) = opened else {
        return Ok(Err(none()));
    };
    let (meta, txn) = (Meta(database), env.read_txn()?);
    match meta.format(&txn)? {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => {
            let path = directory.to_owned();
            return Ok(Err(Failure::Error(OpenError::NewerFormat {
                path,
                found,
                known: FORMAT,
            })));
        }
        Some(_) | None => return Ok(Err(none())),
    }
    for spec in stores {
        let declared = Types::from(spec);
        match meta.types(&txn, &spec.name)? {
            Some(found) if found != declared => {
                return Ok(Err(Failure::Error(OpenError::Types {
                    store: spec.name.to_string(),
                    path: directory.to_owned(),
                    found: found.to_string(),
                    declared: declared.to_string(),
                })));
            }
            Some(_) | None => {}
        }
    }
    let checksum = meta.checksum(&txn)?.unwrap_or(false);
    Ok(Ok(Known {
        checksum,
        fresh: meta.fresh(&txn)?,
    }))
}

type BytesDatabase<'e> = Database<'e, Bytes, Bytes>;

/// Databases that are usable once the transaction that made them is committed.
struct Databases<'e>(BytesDatabase<'e>, Vec<BytesDatabase<'e>>);

impl OnCommit for Databases<'_> {
    type Committed = (BytesDatabase<'static>, Vec<BytesDatabase<'static>>);

    fn on_commit(self, token: &CommitToken) -> Self::Committed {
        let stores = self
            .1
            .into_iter()
            .map(|database| database.on_commit(token))
            .collect();
        (self.0.on_commit(token), stores)
    }
}

/// Opens the meta database and those of the stores, and makes those that are new.
fn make_databases(
    env: &Env<WithoutTls>,
    stores: &[StoreSpec],
    checksum: bool,
) -> heed::Result<(Meta, Vec<BytesDatabase<'static>>)> {
    let made = env.create_databases_and_commit(env.write_txn()?, |opener, txn| {
        let meta = opener.create_database::<Bytes, Bytes>(txn, Some(meta::DATABASE))?;
        let mut databases = Vec::with_capacity(stores.len());
        for spec in stores {
            databases.push(opener.create_database(txn, Some(&database_name(&spec.name)))?);
        }
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(Databases(meta, databases)))
    })?;
    let CommitOrAbort::Commit((database, databases)) = made else {
        unreachable!("the closure never aborts")
    };
    let meta = Meta(database);
    let mut txn = env.write_txn()?;
    meta.put_format(&mut txn, FORMAT)?;
    meta.put_checksum(&mut txn, checksum)?;
    for spec in stores {
        meta.put_types(&mut txn, &spec.name, &Types::from(spec))?;
    }
    txn.commit()?;
    Ok((meta, databases))
}

/// Name of a store's database: never that of the meta database.
pub(crate) fn database_name(store: &str) -> String {
    format!("store/{store}")
}

/// LMDB's maps consist of whole pages of the system. 64 KiB is a multiple of every page size there is.
pub(super) fn whole_pages(size: usize) -> usize {
    const UNIT: usize = 64 << 10;
    size.max(1 << 20).div_ceil(UNIT).saturating_mul(UNIT)
}
