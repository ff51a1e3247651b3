//! Starting LMDB on files that were judged to be good: types, databases.

use std::{fs, path::Path, sync::Arc};

use heed::{
    CommitOrAbort, CommitToken, Database, Env, EnvFlags, EnvOpenOptions, MdbError, OnCommit, WithoutTls,
    types::Bytes,
};

use super::{
    DiskStep, EnvironmentOptions, StoreDatabase,
    directory::DATA,
    map::Mapped,
    meta::{self, Meta, Types},
    sidecar::FORMAT,
};
use crate::{OpenError, StoreSpec};

/// Why a state cannot be trusted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(super) what: String,
    /// Whether the files may tell somebody something.
    pub(super) keep: bool,
}

impl Reason {
    pub(super) fn outdated(what: String) -> Self {
        Self { what, keep: false }
    }

    pub(super) fn damaged(what: String) -> Self {
        Self { what, keep: true }
    }
}

/// Why LMDB could not be opened.
pub(super) enum Failure {
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

/// LMDB, open, with its databases.
pub(crate) struct Started {
    pub(super) map: Mapped,
    pub(super) meta: Meta<'static>,
    pub(super) stores: Vec<StoreDatabase>,
}

/// Opens LMDB and its databases. `found`: the state is expected to be there.
pub(super) fn start(
    directory: &Path,
    stores: &[StoreSpec],
    options: &EnvironmentOptions,
    found: bool,
) -> Result<Started, Failure> {
    let env = open_lmdb(directory, options, stores.len())?;
    // Anything that LMDB finds wrong from here on is damage, if there was something before.
    let fault = |error: heed::Error| match damage(&error) {
        Some(what) if found => Failure::Bad(Reason::damaged(what)),
        _ => Failure::Error(OpenError::lmdb(directory, &error)),
    };
    // Readers of dead processes, if others were looking in while this was closed.
    env.clear_stale_readers().map_err(fault)?;
    let checksum = if found {
        let checksum = read_meta(directory, &env, stores).map_err(fault)??;
        if checksum != options.checksum {
            let path = directory.display();
            tracing::info!(%path, checksum, "the state was made with another `checksum` option and keeps it");
        }
        checksum
    } else {
        options.checksum
    };
    let allowed = options.allow(DiskStep::MakeStores).map_err(heed::Error::Io);
    let made = allowed.and_then(|()| make_databases(&env, stores, checksum));
    let (meta, databases) = made.map_err(fault)?;
    let stores = stores
        .iter()
        .zip(databases)
        .map(|(spec, database)| StoreDatabase {
            name: Arc::from(&*spec.name),
            database,
            checksum,
        })
        .collect();
    Ok(Started {
        map: Mapped::new(env),
        meta,
        stores,
    })
}

fn open_lmdb(
    directory: &Path,
    options: &EnvironmentOptions,
    stores: usize,
) -> Result<Env<WithoutTls>, Failure> {
    let length = fs::metadata(directory.join(DATA)).map_or(0, |data| data.len() as usize);
    // A file that is as long as its map still needs room to declare a store.
    let map_size = options.map_size.max(length + HEADROOM);
    // One per store, and others that look in.
    let readers = MAX_READERS.max(2 * stores as u32);
    let mut lmdb = EnvOpenOptions::new().read_txn_without_tls();
    lmdb.map_size(whole_pages(map_size))
        .max_readers(readers)
        .max_dbs(stores as u32 + 1);
    if !options.sync {
        // SAFETY: without a sync per commit, the file is consistent as long as the machine runs; the sidecar sees
        // to it that a file that a machine died over is not opened again.
        unsafe { lmdb.flags(EnvFlags::NO_SYNC) };
    }
    let allowed = options.allow(DiskStep::OpenData).map_err(heed::Error::Io);
    // SAFETY: the file is ours alone to write (the directory's lock is held), on a local file system, was checked
    // to be as long as its header says, and is changed only through LMDB for as long as it is mapped.
    let opened = allowed.and_then(|()| unsafe { lmdb.open(directory) });
    opened.map_err(|error| match damage(&error) {
        Some(what) => Failure::Bad(Reason::damaged(what)),
        None => Failure::Error(OpenError::lmdb(directory, &error)),
    })
}

const HEADROOM: usize = 1 << 20;

/// Readers at one time: the stores' own, and those of processes that look in.
pub(super) const MAX_READERS: u32 = 1024;

/// What LMDB says, if it says that the file is damaged.
pub(crate) fn damage(error: &heed::Error) -> Option<String> {
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

/// Compares format and types with what the environment says of itself. Whether it keeps checksums.
fn read_meta(
    directory: &Path,
    env: &Env<WithoutTls>,
    stores: &[StoreSpec],
) -> heed::Result<Result<bool, Failure>> {
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
    Ok(Ok(meta.checksum(&txn)?.unwrap_or(false)))
}

type BytesDatabase<'e> = Database<'e, Bytes, Bytes>;

/// Databases that are usable once the transaction that made them is committed.
struct Databases<'e>(Meta<'e>, Vec<BytesDatabase<'e>>);

impl OnCommit for Databases<'_> {
    type Committed = (Meta<'static>, Vec<BytesDatabase<'static>>);

    fn on_commit(self, token: &CommitToken) -> Self::Committed {
        let stores = self
            .1
            .into_iter()
            .map(|database| database.on_commit(token))
            .collect();
        (Meta(self.0.0.on_commit(token)), stores)
    }
}

/// Opens the meta database and those of the stores, and makes what is new. In one transaction: if it fails,
/// nothing was written.
fn make_databases(
    env: &Env<WithoutTls>,
    stores: &[StoreSpec],
    checksum: bool,
) -> heed::Result<(Meta<'static>, Vec<BytesDatabase<'static>>)> {
    let made = env.create_databases_and_commit(env.write_txn()?, |opener, txn| {
        let meta = Meta(opener.create_database::<Bytes, Bytes>(txn, Some(meta::DATABASE))?);
        if meta.format(txn)?.is_none() {
            meta.put_format(txn, FORMAT)?;
            meta.put_checksum(txn, checksum)?;
        }
        let mut databases = Vec::with_capacity(stores.len());
        for spec in stores {
            databases.push(opener.create_database(txn, Some(&database_name(&spec.name)))?);
            if meta.types(txn, &spec.name)?.is_none() {
                meta.put_types(txn, &spec.name, &Types::from(spec))?;
            }
        }
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(Databases(meta, databases)))
    })?;
    match made {
        CommitOrAbort::Commit(databases) => Ok(databases),
        CommitOrAbort::Abort(()) => unreachable!("the closure never aborts"),
    }
}

/// Name of a store's database: never that of the meta database.
pub(super) fn database_name(store: &str) -> String {
    format!("store/{store}")
}

/// LMDB's maps consist of whole pages of the system. 64 KiB is a multiple of every page size there is.
pub(super) fn whole_pages(size: usize) -> usize {
    const UNIT: usize = 64 << 10;
    size.max(1 << 20).div_ceil(UNIT).saturating_mul(UNIT)
}
