//! Writing to LMDB: one short transaction, opened and committed in one function, and what to do when it fails.

use std::{sync::atomic::Ordering::SeqCst, time::Duration};

use heed::MdbError;

use super::{DiskStep, Inner, directory};
use crate::{CommitPoint, Offset, StoreError, Timestamp};

/// One entry to write. `None`: to be deleted.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) store: usize,
    pub(super) key: &'a [u8],
    pub(super) value: Option<&'a [u8]>,
}

/// What is written with the last entries.
#[derive(Default)]
pub(super) struct Notes<'a> {
    pub(super) positions: &'a [(usize, Offset)],
    pub(super) commit: Option<&'a CommitPoint>,
    /// When the changelogs of the stores with these positions had no more than the stores have.
    pub(super) followed_until: Option<Timestamp>,
    /// For how long these changelogs keep deletions.
    pub(super) kept: Option<Duration>,
    /// A store to empty first.
    pub(super) clear: Option<usize>,
    /// Which logs the state comes from.
    pub(super) origins: &'a [(&'a str, u128)],
}

/// A transaction takes about this many entries. LMDB keeps the memory of a transaction's pages until the
/// environment is closed, about 4 KiB per entry of a large store.
const CHUNK_ENTRIES: usize = 10_000;
/// And about this many bytes.
const CHUNK_BYTES: usize = 32 << 20;

impl Inner {
    /// Writes entries and what they correspond to. The gate must be locked and no reader open.
    ///
    /// `divisible` entries, if many, are written in several transactions, the notes in the last one. So a crash
    /// (or an error) may leave some of them in LMDB while the notes still say the position of before. That is safe
    /// for entries that are in a changelog already: the entries are values, not changes, and whoever opens the
    /// environment, or falls back, replays the changelog from that position to its end, which writes each of
    /// these keys again. Entries of stores without a changelog have no such repair; they are `whole`, and written
    /// in the last transaction, all of them.
    pub(super) fn write(
        &self,
        divisible: &[Write<'_>],
        whole: &[Write<'_>],
        notes: &Notes<'_>,
    ) -> Result<(), StoreError> {
        let mut rest = divisible;
        loop {
            let (chunk, after) = rest.split_at(chunk_length(rest));
            if after.is_empty() {
                return self.transact(&[chunk, whole], Some(notes));
            }
            self.transact(&[chunk], None)?;
            rest = after;
        }
    }

    /// One transaction, repeated in a larger map if it does not fit.
    pub(super) fn transact(
        &self,
        writes: &[&[Write<'_>]],
        notes: Option<&Notes<'_>>,
    ) -> Result<(), StoreError> {
        loop {
            match self.try_transact(writes, notes) {
                Ok(()) => return Ok(()),
                Err(heed::Error::Mdb(MdbError::MapFull)) => self.grow()?,
                Err(error) => return Err(self.write_fault(&error)),
            }
        }
    }

    /// The only place that opens a write transaction on the stores. It ends here too, whatever happens: LMDB
    /// wants it to be committed by the thread that began it.
    fn try_transact(&self, writes: &[&[Write<'_>]], notes: Option<&Notes<'_>>) -> heed::Result<()> {
        let mut txn = self.lmdb.map.env()?.write_txn()?;
        let mut packed = Vec::new();
        if let Some(store) = notes.and_then(|notes| notes.clear) {
            self.store(store).database.clear(&mut txn)?;
            self.lmdb
                .meta
                .forget_position(&mut txn, &self.store(store).name)?;
        }
        for write in writes.iter().copied().flatten() {
            let store = self.store(write.store);
            match write.value {
                Some(value) => {
                    let stored = store.pack(write.key, value, &mut packed);
                    store.database.put(&mut txn, write.key, stored)?;
                }
                None => drop(store.database.delete(&mut txn, write.key)?),
            }
        }
        if let Some(notes) = notes {
            let meta = self.lmdb.meta;
            for &(store, next) in notes.positions {
                let store = &self.store(store).name;
                meta.put_position(&mut txn, store, next)?;
                if let Some(until) = notes.followed_until {
                    meta.put_followed_until(&mut txn, store, until)?;
                }
                if let Some(kept) = notes.kept {
                    meta.put_kept(&mut txn, store, kept)?;
                }
            }
            if let Some(point) = notes.commit {
                meta.put_commit(&mut txn, point)?;
            }
            for (log, id) in notes.origins {
                meta.put_origin(&mut txn, log, *id)?;
            }
        }
        // The pages are written now: what goes wrong with them aborts the transaction.
        self.options.allow(DiskStep::Commit).map_err(heed::Error::Io)?;
        txn.commit()
    }

    /// Doubles the map.
    fn grow(&self) -> Result<(), StoreError> {
        let readers = self.readers.load(SeqCst);
        if readers > 0 {
            let what = format!("the memory map is full and cannot grow while {readers} buffers are open");
            return Err(StoreError::io(&self.directory, what));
        }
        // The reader of a process that was killed keeps pages from being used again. Perhaps that was all.
        let fault = |error: heed::Error| StoreError::lmdb(&self.directory, "growing", &error);
        let env = self.lmdb.map.env().map_err(fault)?;
        if env.clear_stale_readers().map_err(fault)? > 0 {
            return Ok(());
        }
        let size = env.info().map_size;
        let limit = self.options.max_map_size;
        if size >= limit {
            return Err(StoreError::MapFull {
                path: self.directory.clone(),
                limit,
            });
        }
        let size = super::start::whole_pages(size.saturating_mul(2).min(limit));
        tracing::info!(path = %self.directory.display(), size, "the memory map is full, growing it");
        let allowed = self.options.allow(DiskStep::Grow).map_err(heed::Error::Io);
        // SAFETY: no transaction of this process is open on the environment. Readers are counted and there are
        // none; new ones begin, as all writing is done, with the gate locked, which our caller holds.
        allowed
            .and_then(|()| unsafe { self.lmdb.map.resize(size) })
            .map_err(fault)
    }

    /// What a failed write means.
    #[cold]
    fn write_fault(&self, error: &heed::Error) -> StoreError {
        if let Some(free) = directory::disk_full(&self.directory, os_error(error)) {
            return StoreError::DiskFull {
                path: self.directory.clone(),
                free,
            };
        }
        let error = StoreError::lmdb(&self.directory, "writing", error);
        self.condemn(&error);
        error
    }
}

/// The error number of the system, if LMDB passed one on.
fn os_error(error: &heed::Error) -> Option<i32> {
    match error {
        heed::Error::Io(error) => error.raw_os_error(),
        heed::Error::Mdb(MdbError::Other(number)) => Some(*number),
        _ => None,
    }
}

/// How many of the entries fit one transaction; at least one, if there is one.
fn chunk_length(writes: &[Write<'_>]) -> usize {
    let mut bytes = 0;
    for (count, write) in writes.iter().enumerate() {
        bytes += write.key.len() + write.value.map_or(0, <[u8]>::len);
        if count >= CHUNK_ENTRIES || (bytes > CHUNK_BYTES && count > 0) {
            return count;
        }
    }
    writes.len()
}
