//! One LMDB environment: the stores of one processor in one partition, and what they correspond to.
//!
//! The only place that names LMDB. What may be here: files, transactions, positions. What may not: types of keys
//! and values, overlays.

mod base;
mod checksum;
mod descriptors;
mod directory;
mod file;
mod host;
mod inspector;
mod lock;
mod map;
mod meta;
mod open;
mod options;
mod sidecar;
mod start;
mod write;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

pub(crate) use base::{Base, BaseRange};
pub use host::{DiskStep, Host};
pub use inspector::{Inspector, StoreInfo};
pub use options::{CommitPoint, Condition, EnvironmentOptions, Followed, InputPosition, Opened};
pub(crate) use start::damage;

use self::{
    base::StoreDatabase,
    directory::DATA,
    lock::DirectoryLock,
    sidecar::Sidecar,
    start::{Failure, Started},
    write::{Notes, Write},
};
use crate::{Buffer, Marks, Offset, OpenError, StoreError, StoreSpec, Timestamp};

/// An LMDB environment, locked against other writers for as long as it lives.
pub struct Environment {
    inner: Arc<Inner>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("directory", &self.inner.directory)
            .finish_non_exhaustive()
    }
}

/// Shared by the environment and its buffers.
pub(crate) struct Inner {
    // Before the lock: another process may open the files once these are closed.
    lmdb: Started,
    directory: PathBuf,
    specs: Vec<StoreSpec>,
    options: EnvironmentOptions,
    sidecar: Mutex<Sidecar>,
    /// When the first commit since the opening was made.
    at_work_since: OnceLock<Timestamp>,
    /// Open read transactions of buffers.
    readers: AtomicUsize,
    /// Held while a transaction begins and while anything is written, so that the map can grow.
    gate: Mutex<()>,
    lock: DirectoryLock,
}

impl Inner {
    fn store(&self, number: usize) -> &StoreDatabase {
        &self.lmdb.stores[number]
    }

    /// Notes damage that was found, so that the next opening sets the file aside and does not fall over it again.
    #[cold]
    fn condemn(&self, error: &StoreError) {
        let what = match error {
            StoreError::Corrupt { store, key, what } => format!("store `{store}`, key {key}: {what}"),
            StoreError::Damaged { what, .. } => what.clone(),
            _ => return,
        };
        let mut sidecar = lock(&self.sidecar);
        if sidecar.damage.is_none() {
            tracing::error!(path = %self.directory.display(), what, "the local state is damaged");
            sidecar.damage = Some(what);
            if let Err(error) = sidecar.write(&self.directory, true, &self.options) {
                tracing::error!(path = %self.directory.display(), %error, "and this cannot be noted there");
            }
        }
    }

    /// Takes it that the processes before have not died over this state, once commits have been made for long enough: whoever
    /// comes to a damaged page does so soon, for he begins with the record over which the last one has died. So an instance
    /// that is killed now and then need not read all of its state for it.
    fn is_at_work(&self, at: Timestamp) {
        let since = *self.at_work_since.get_or_init(|| at);
        if at.since(since) < PROVEN {
            return;
        }
        let mut sidecar = lock(&self.sidecar);
        if sidecar.deaths > 0 {
            sidecar.deaths = 0;
            // For the next process; for the next boot only if that has a use for it.
            if let Err(error) = sidecar.write(&self.directory, sidecar.sync, &self.options) {
                tracing::warn!(path = %self.directory.display(), %error, "writing its sidecar");
            }
        }
    }

    fn gate(&self) -> MutexGuard<'_, ()> {
        lock(&self.gate)
    }
}

/// See [`Inner::is_at_work`].
const PROVEN: Duration = Duration::from_secs(600);

/// Locks what a panic cannot leave half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Environment {
    /// Opens (or makes) the environment in `directory` with these stores, numbered in this order.
    ///
    /// Stores that are there and not among `stores` are left as they are.
    pub fn open(
        directory: &Path,
        stores: &[StoreSpec],
        options: &EnvironmentOptions,
    ) -> Result<Opened, OpenError> {
        open::open(directory, stores, options)
    }

    /// Removes the environment in `directory`, and the directory, if nothing else is in it. Not while somebody has it
    /// open. Whether there was one.
    pub fn remove(directory: &Path) -> Result<bool, OpenError> {
        open::remove(directory)
    }

    /// The directory it is in.
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// A buffer on a store. At most one per store at a time.
    pub fn buffer(&self, store: usize, marks: &Arc<Marks>) -> Result<Buffer, StoreError> {
        let _gate = self.inner.gate();
        Ok(Buffer::new(Base::open(&self.inner, store)?, marks.clone()))
    }

    /// Where in its changelog a store is; `None` if nothing was ever committed or restored.
    pub fn position(&self, store: usize) -> Result<Option<Offset>, StoreError> {
        let inner = &*self.inner;
        self.read(|txn| inner.lmdb.meta.position(txn, &inner.store(store).name))
    }

    /// How many entries a store has. LMDB knows; nothing is counted.
    pub fn entries(&self, store: usize) -> Result<u64, StoreError> {
        self.read(|txn| self.inner.store(store).database.len(txn))
    }

    /// Up to when a store has all that its changelog had; `None` if that was never [noted](Self::follow).
    pub fn followed(&self, store: usize) -> Result<Option<Followed>, StoreError> {
        let inner = &*self.inner;
        self.read(|txn| inner.lmdb.meta.followed(txn, &inner.store(store).name))
    }

    /// Notes that a store is at this place of its changelog, and that this was all there was at that time (or, if it is to be
    /// filled from there on: that it has what was before that place, which may be nothing). No buffer may be open on the
    /// environment.
    pub fn follow(&self, store: usize, next: Offset, followed: Followed) -> Result<(), StoreError> {
        let _gate = self.inner.gate();
        self.inner.check_in_place()?;
        let notes = Notes {
            positions: &[(store, next)],
            followed_until: Some(followed.until),
            kept: Some(followed.kept),
            ..Notes::default()
        };
        self.inner.transact(&[], Some(&notes))
    }

    /// The damage that was found since the environment was opened, if any was. Whatever follows from such a state should not
    /// be kept; the next opening begins with nothing.
    pub fn damage(&self) -> Option<String> {
        lock(&self.inner.sidecar).damage.clone()
    }

    /// The input positions and stream time of the last commit, and the positions of the stores.
    pub fn last_commit(&self) -> Result<CommitPoint, StoreError> {
        let inner = &*self.inner;
        self.read(|txn| {
            let mut point = inner.lmdb.meta.commit(txn)?;
            for (number, store) in inner.lmdb.stores.iter().enumerate() {
                if let Some(next) = inner.lmdb.meta.position(txn, &store.name)? {
                    point.changelogs.push((number, next));
                }
            }
            Ok(point)
        })
    }

    /// Which log of this name the state comes from, if that was [noted](Self::note_origins). A log that was deleted and
    /// made again has another id, and nothing that is known of the old one is true of it.
    pub fn origin(&self, log: &str) -> Result<Option<u128>, StoreError> {
        self.read(|txn| self.inner.lmdb.meta.origin(txn, log))
    }

    /// Notes which logs the state comes from: changelogs and inputs, by name and id. No buffer may be open on the
    /// environment.
    pub fn note_origins(&self, origins: &[(&str, u128)]) -> Result<(), StoreError> {
        let _gate = self.inner.gate();
        self.inner.write(
            &[],
            &[],
            &Notes {
                origins,
                ..Notes::default()
            },
        )
    }

    fn read<R>(&self, f: impl FnOnce(&heed::RoTxn<'_>) -> heed::Result<R>) -> Result<R, StoreError> {
        let _gate = self.inner.gate();
        let env = self.inner.lmdb.map.env();
        let result = env.and_then(|env| {
            let txn = env.read_txn()?;
            f(&txn)
        });
        result.map_err(|error| StoreError::lmdb(&self.inner.directory, "reading", &error))
    }

    /// Restores a piece of a changelog: entries (`None`: deleted) in log order, and the place after them, in
    /// one transaction (several, if there are very many). No buffer may be open on the environment. A piece that was cut off
    /// may have left something: so the store must have [a position](Self::follow) before the first one.
    ///
    /// The larger the piece, the faster: it is sorted and written page by page. A million keys in no order take
    /// about four times as long in pieces of 10,000 as in pieces of 100,000.
    pub fn restore<'a>(
        &self,
        store: usize,
        entries: &mut dyn Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
        next: Offset,
    ) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let _gate = inner.gate();
        inner.check_in_place()?;
        let mut writes: Vec<_> = entries.map(|(key, value)| Write { store, key, value }).collect();
        // By key, of each key the last: written in order, pages fill well and are touched once.
        writes.reverse();
        writes.sort_by(|a, b| a.key.cmp(b.key));
        writes.dedup_by(|a, b| a.key == b.key);
        inner.write(
            &writes,
            &[],
            &Notes {
                positions: &[(store, next)],
                ..Notes::default()
            },
        )
    }

    /// Empties a store and forgets its position (its changelog was deleted or no longer goes back far enough).
    pub fn clear(&self, store: usize) -> Result<(), StoreError> {
        let _gate = self.inner.gate();
        self.inner.write(
            &[],
            &[],
            &Notes {
                clear: Some(store),
                ..Notes::default()
            },
        )
    }

    /// Writes what the buffers hold, sorted, with the positions it corresponds to, in one short transaction
    /// (several, if very much was written; the positions are in the last one).
    ///
    /// All open buffers of the environment must be given, whether anything was written to them or not, since each
    /// holds on to the state of before. On success the buffers are empty and read the new state; on an error they
    /// are as they were, and the commit can be repeated.
    pub fn commit(
        &self,
        buffers: &mut [(usize, &mut Buffer)],
        point: &CommitPoint,
    ) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let _gate = inner.gate();
        inner.check_in_place()?;
        self.check_complete(buffers)?;
        for (_, buffer) in &mut *buffers {
            buffer.base_mut().release();
        }
        let written = inner.write_buffers(buffers, point);
        let mut renewed = Ok(());
        for (_, buffer) in buffers {
            if written.is_ok() {
                buffer.discard();
            }
            renewed = renewed.and(buffer.base_mut().renew());
        }
        if let (Ok(()), Some(at)) = (&written, point.committed_at) {
            inner.is_at_work(at);
        }
        written.and(renewed)
    }

    /// Whether the buffers are the environment's own, and all of them.
    fn check_complete(&self, buffers: &[(usize, &mut Buffer)]) -> Result<(), StoreError> {
        let inner = &*self.inner;
        if !buffers
            .iter()
            .all(|(store, buffer)| buffer.base().reads(&self.inner, *store))
        {
            return Err(StoreError::io(
                &inner.directory,
                "a buffer of another store was given to a commit",
            ));
        }
        let (open, given) = (inner.readers.load(SeqCst), buffers.len());
        if open > given {
            let what =
                format!("{open} buffers are open, and a commit was given {given} of them: give it all");
            return Err(StoreError::io(&inner.directory, what));
        }
        Ok(())
    }

    /// Closes LMDB and opens it again, with the lock held all the time. All buffers must be gone.
    ///
    /// LMDB keeps the memory of its largest transactions until it is closed: worth doing after a restore.
    pub fn reopen(self) -> Result<Self, OpenError> {
        let mut inner = self
            .into_inner()
            .map_err(|path| OpenError::io(&path, "reopening", &BUFFERS_OPEN))?;
        // The last handle: this closes it.
        drop(inner.lmdb);
        inner.lmdb = match start::start(&inner.directory, &inner.specs, &inner.options, true) {
            Ok(lmdb) => lmdb,
            Err(Failure::Error(error)) => return Err(error),
            Err(Failure::Bad(reason)) => {
                return Err(OpenError::Damaged {
                    path: inner.directory,
                    what: reason.what,
                });
            }
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Closes in good order: synced and marked clean. All buffers must be gone.
    pub fn close(self) -> Result<(), StoreError> {
        let inner = self
            .into_inner()
            .map_err(|path| StoreError::io(&path, BUFFERS_OPEN))?;
        // Without its map it cannot be synced. It stays marked as in use, which is what it was, and is not damaged.
        if let Err(error) = inner.lmdb.map.env() {
            return Err(StoreError::lmdb(&inner.directory, "closing", &error));
        }
        let Inner {
            lmdb,
            directory,
            sidecar,
            options,
            lock: directory_lock,
            ..
        } = inner;
        if options.temporary {
            // It stays marked as written under this boot.
            drop((lmdb, directory_lock));
            return Ok(());
        }
        let synced = options.allow(DiskStep::Sync).map_err(heed::Error::Io);
        let synced = synced.and_then(|()| lmdb.map.env()?.force_sync());
        // The last handle: this closes it.
        drop(lmdb);
        let mut sidecar = sidecar.into_inner().unwrap_or_else(PoisonError::into_inner);
        match &synced {
            Ok(()) => {
                sidecar.clean = true;
                sidecar.transaction = file::last_transaction(&directory.join(DATA));
            }
            // The kernel may have dropped what it could not write: what is read again may be older.
            Err(error) => sidecar.damage = Some(format!("the disk did not take what was written: {error}")),
        }
        let noted = sidecar.write(&directory, true, &options);
        synced.map_err(|error| StoreError::lmdb(&directory, "syncing", &error))?;
        noted.map_err(|error| StoreError::io(&directory, format!("its sidecar: {error}")))?;
        drop(directory_lock);
        Ok(())
    }

    /// Its only owner, or the directory.
    fn into_inner(self) -> Result<Inner, PathBuf> {
        let directory = self.inner.directory.clone();
        Arc::into_inner(self.inner).ok_or(directory)
    }
}

const BUFFERS_OPEN: &str = "it cannot be closed while buffers are open";

impl Inner {
    /// Whether the directory is still there. What is written to files that somebody has removed is lost.
    fn check_in_place(&self) -> Result<(), StoreError> {
        match self.lock.is_in_place() {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::io(
                &self.directory,
                "it was removed or replaced while in use",
            )),
            Err(error) => Err(StoreError::io(&self.directory, format!("its lock file: {error}"))),
        }
    }

    fn write_buffers(
        &self,
        buffers: &mut [(usize, &mut Buffer)],
        point: &CommitPoint,
    ) -> Result<(), StoreError> {
        let (mut divisible, mut whole) = (Vec::new(), Vec::new());
        for (store, buffer) in buffers {
            let store = *store;
            let has_changelog = point.changelogs.iter().any(|&(with, _)| with == store);
            let writes = if has_changelog { &mut divisible } else { &mut whole };
            writes.extend(
                buffer
                    .dirty_entries()
                    .map(|(key, value)| Write { store, key, value }),
            );
        }
        let notes = Notes {
            positions: &point.changelogs,
            commit: Some(point),
            followed_until: point.committed_at,
            ..Notes::default()
        };
        self.write(&divisible, &whole, &notes)
    }
}
