//! Looking into an environment from outside, without its stores' types and without its lock.

use std::{
    ops::{Bound, ControlFlow},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use heed::{CommitOrAbort, Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, WithoutTls, types::Bytes};

use super::{
    EnvironmentOptions,
    base::StoreDatabase,
    directory::{self, DATA},
    file::{self, Look},
    map::Mapped,
    meta::{self, Meta, Types},
    sidecar::{FORMAT, Found, Sidecar},
    start::{MAX_READERS, damage, database_name},
};
use crate::{CommitPoint, Offset, OpenError, StoreError};

/// A view into a state directory that changes nothing, also while an application writes to it.
///
/// Each call sees the state of one commit. Not for the process that has the environment open.
pub struct Inspector {
    map: Mapped,
    directory: PathBuf,
    meta: Meta<'static>,
    stores: Vec<(StoreDatabase, Types)>,
    doubt: Option<String>,
    /// Held during each transaction, so that the map can be adapted when the writer has grown it.
    gate: Mutex<()>,
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector")
            .field("directory", &self.directory)
            .field("doubt", &self.doubt)
            .finish_non_exhaustive()
    }
}

/// A store, as its environment knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreInfo {
    /// The name, unique within its processor.
    pub name: String,
    /// What kind of store: `table`.
    pub kind: String,
    /// Name of the key's encoding.
    pub key: String,
    /// Name of the value's encoding.
    pub value: String,
    /// How many entries it has.
    pub entries: u64,
    /// The place after its last changelog record.
    pub position: Option<Offset>,
}

/// Takes an encoded key and its encoded value, and says whether to go on.
type Each<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// So many stores can have been declared in one environment over time.
const MAX_STORES: u32 = 4096;
/// A scan reads so many entries at a time.
const PIECE: usize = 1000;

impl Inspector {
    /// Opens the environment in `directory`.
    pub fn open(directory: &Path) -> Result<Self, OpenError> {
        let fault = |what: &'static str| move |error: std::io::Error| OpenError::io(directory, what, &error);
        let damaged = |what: String| OpenError::Damaged {
            path: directory.to_owned(),
            what,
        };
        let data = directory.join(DATA);
        if !data.try_exists().map_err(fault("looking for the data file"))? {
            return Err(OpenError::io(
                directory,
                "no state is here",
                &"there is no data file",
            ));
        }
        if let Some(kind) = directory::network_kind(directory).map_err(fault("asking for the file system"))? {
            return Err(OpenError::NetworkFileSystem {
                path: directory.to_owned(),
                kind,
            });
        }
        let read = || Sidecar::read(directory).map_err(fault("reading its sidecar"));
        let (found, now) = loop {
            let found = read()?;
            let now = Sidecar::dirty(directory, &EnvironmentOptions::default())
                .map_err(fault("asking for the device"))?;
            // It may be opened or closed meanwhile. Then look again.
            if read()? == found {
                break (found, now);
            }
        };
        let doubt = match found {
            Found::Newer(found) => {
                return Err(OpenError::NewerFormat {
                    path: directory.to_owned(),
                    found,
                    known: FORMAT,
                });
            }
            Found::Sidecar(sidecar) if !sidecar.made => {
                let why = "whoever began to make it did not come to the end";
                return Err(OpenError::io(directory, "no state is here", &why));
            }
            Found::Sidecar(sidecar) => sidecar.doubt(&now).map(|doubt| doubt.what).or(sidecar.damage),
            Found::Missing => Some("the sidecar file is missing".into()),
            Found::Unreadable(why) => Some(format!("the sidecar file is damaged: {why}")),
        };
        if let Some(problem) = file::problem(&data, Look::Quick).map_err(fault("reading the data file"))? {
            return Err(damaged(problem));
        }
        let lmdb_fault = |error: heed::Error| match damage(&error) {
            Some(what) => damaged(what),
            None => OpenError::lmdb(directory, &error),
        };
        let env = open_lmdb(directory).map_err(lmdb_fault)?;
        let Some((meta, stores)) = open_databases(&env).map_err(lmdb_fault)? else {
            return Err(damaged("the data file is not one of kproc's".into()));
        };
        Ok(Self {
            map: Mapped::new(env),
            directory: directory.to_owned(),
            meta,
            stores,
            doubt,
            gate: Mutex::new(()),
        })
    }

    /// Why the state should not be trusted, if so. An application that starts would rebuild it.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// All stores that were ever declared here, by name.
    pub fn stores(&self) -> Result<Vec<StoreInfo>, StoreError> {
        self.read(|txn| {
            let info = |(store, types): &(StoreDatabase, Types)| {
                Ok(StoreInfo {
                    name: store.name.to_string(),
                    kind: types.kind.clone(),
                    key: types.key.clone(),
                    value: types.value.clone(),
                    entries: store.database.len(txn)?,
                    position: self.meta.position(txn, &store.name)?,
                })
            };
            self.stores
                .iter()
                .map(info)
                .collect::<heed::Result<_>>()
                .map_err(|error| self.fault(&error))
        })
    }

    /// The input positions and wall time of the last commit. The changelogs' positions are those of
    /// the stores.
    pub fn last_commit(&self) -> Result<CommitPoint, StoreError> {
        self.read(|txn| self.meta.commit(txn).map_err(|error| self.fault(&error)))
    }

    /// The encoded value under an encoded key.
    pub fn get(&self, store: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let store = self.store(store)?;
        self.read(|txn| Ok(store.get(txn, key, &self.directory)?.map(<[u8]>::to_vec)))
    }

    /// Calls `each` with the encoded entries whose keys are within the bounds, in key order, until it breaks.
    ///
    /// Reads them in pieces and holds no transaction while `each` runs, so that a slow reader is no burden to the
    /// writer. Of what is committed meanwhile, `each` may see a part.
    pub fn scan(
        &self,
        store: &str,
        (first, last): (Bound<&[u8]>, Bound<&[u8]>),
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        let store = self.store(store)?;
        let mut first = first.map(<[u8]>::to_vec);
        loop {
            let bounds = (first.as_ref().map(Vec::as_slice), last);
            let piece = self.read(|txn| {
                let mut range = store.range(txn, bounds, &self.directory)?;
                let mut piece = Vec::new();
                while let Some((key, value)) = range.next()? {
                    piece.push((key.to_vec(), value.to_vec()));
                    if piece.len() == PIECE {
                        break;
                    }
                }
                Ok(piece)
            })?;
            for (key, value) in &piece {
                if each(key, value).is_break() {
                    return Ok(());
                }
            }
            match piece.into_iter().nth(PIECE - 1) {
                Some((key, _)) => first = Bound::Excluded(key),
                None => return Ok(()),
            }
        }
    }

    fn store(&self, name: &str) -> Result<&StoreDatabase, StoreError> {
        let found = self.stores.iter().find(|(store, _)| &*store.name == name);
        found.map(|(store, _)| store).ok_or_else(|| {
            let names: Vec<_> = self.stores.iter().map(|(store, _)| &*store.name).collect();
            let what = format!("there is no store `{name}` here, but: {}", names.join(", "));
            StoreError::io(&self.directory, what)
        })
    }

    /// One read transaction.
    fn read<R>(&self, f: impl FnOnce(&RoTxn<'_>) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let _gate: MutexGuard<'_, ()> = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let env = self.map.env().map_err(|error| self.fault(&error))?;
        let mut txn = env.read_txn();
        if let Err(heed::Error::Mdb(MdbError::MapResized)) = txn {
            // SAFETY: the gate is held, so this process has no transaction open on the environment. Zero means
            // the size that the writer has given it.
            let adapted = unsafe { self.map.resize(0) };
            adapted.map_err(|error| self.fault(&error))?;
            txn = env.read_txn();
        }
        let txn = txn.map_err(|error| self.fault(&error))?;
        f(&txn)
    }

    fn fault(&self, error: &heed::Error) -> StoreError {
        StoreError::lmdb(&self.directory, "reading", error)
    }
}

fn open_lmdb(directory: &Path) -> heed::Result<Env<WithoutTls>> {
    let mut lmdb = EnvOpenOptions::new().read_txn_without_tls();
    lmdb.max_readers(MAX_READERS).max_dbs(MAX_STORES);
    // SAFETY: a read-only map, of a file that was checked to be as long as its header says. Its writer, if there is
    // one, knows of this reader through LMDB's lock file, and never makes the file shorter.
    unsafe {
        lmdb.flags(EnvFlags::READ_ONLY);
        lmdb.open(directory)
    }
}

type Stores = Vec<(StoreDatabase, Types)>;

/// `None` if this is not an environment of kproc's.
fn open_databases(env: &Env<WithoutTls>) -> heed::Result<Option<(Meta<'static>, Stores)>> {
    let open = |name: &str| {
        let opened = env.open_databases_and_commit(env.read_txn()?, |opener, txn| {
            let database = opener.open_database::<Bytes, Bytes>(txn, Some(name))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(database))
        })?;
        Ok::<_, heed::Error>(match opened {
            CommitOrAbort::Commit(database) => database,
            CommitOrAbort::Abort(()) => None,
        })
    };
    let Some(meta) = open(meta::DATABASE)?.map(Meta) else {
        return Ok(None);
    };
    let (all_types, checksum) = {
        let txn = env.read_txn()?;
        (meta.all_types(&txn)?, meta.checksum(&txn)?.unwrap_or(false))
    };
    let mut stores = Vec::with_capacity(all_types.len());
    for (name, types) in all_types {
        if let Some(database) = open(&database_name(&name))? {
            stores.push((
                StoreDatabase {
                    name: Arc::from(name),
                    database,
                    checksum,
                },
                types,
            ));
        }
    }
    Ok(Some((meta, stores)))
}
