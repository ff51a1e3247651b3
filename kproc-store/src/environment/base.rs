//! What a buffer reads below its overlay: one store in one read transaction.

use std::{
    ops::Bound,
    path::Path,
    sync::{Arc, atomic::Ordering::SeqCst},
};

use heed::{Database, RoRange, RoTxn, WithoutTls, types::Bytes};

use super::{Inner, checksum};
use crate::{
    StoreError,
    buffer::{Bounds, Pair},
};

/// The longest key that LMDB takes.
pub(crate) const MAX_KEY_BYTES: usize = 511;

/// A store's database.
#[derive(Debug, Clone)]
pub(crate) struct StoreDatabase {
    pub(crate) name: Arc<str>,
    pub(crate) database: Database<'static, Bytes, Bytes>,
    pub(crate) checksum: bool,
}

impl StoreDatabase {
    /// The stored form of a value. `scratch` lends it memory.
    #[inline]
    pub(crate) fn pack<'a>(&self, key: &[u8], value: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if self.checksum {
            checksum::pack(key, value, scratch)
        } else {
            value
        }
    }

    /// The value in a stored form.
    #[inline]
    pub(crate) fn unpack<'a>(&self, key: &[u8], stored: &'a [u8]) -> Result<&'a [u8], StoreError> {
        if self.checksum {
            checksum::unpack(key, stored).map_err(|what| StoreError::corrupt(&self.name, key, what))
        } else {
            Ok(stored)
        }
    }

    /// The value under a key.
    #[inline]
    pub(crate) fn get<'a>(
        &self,
        txn: &'a RoTxn<'_>,
        key: &[u8],
        directory: &Path,
    ) -> Result<Option<&'a [u8]>, StoreError> {
        match self.database.get(txn, key) {
            Ok(Some(stored)) => self.unpack(key, stored).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(StoreError::lmdb(directory, "reading", &error)),
        }
    }

    /// The entries between the bounds.
    pub(crate) fn range<'a>(
        &'a self,
        txn: &'a RoTxn<'_>,
        (first, last): Bounds<'_>,
        directory: &'a Path,
    ) -> Result<BaseRange<'a>, StoreError> {
        // No key is empty, and LMDB refuses to look for an empty one.
        let first = match first {
            Bound::Included([]) | Bound::Excluded([]) => Bound::Unbounded,
            bound => bound,
        };
        let entries = match last {
            Bound::Included([]) | Bound::Excluded([]) => None,
            last => match self.database.range(txn, &(first, last)) {
                Ok(entries) => Some(entries),
                Err(error) => return Err(StoreError::lmdb(directory, "reading", &error)),
            },
        };
        Ok(BaseRange {
            store: self,
            entries,
            directory,
            environment: None,
        })
    }
}

/// A range of entries, as they are in LMDB.
pub(crate) struct BaseRange<'a> {
    store: &'a StoreDatabase,
    entries: Option<RoRange<'a, Bytes, Bytes>>,
    directory: &'a Path,
    /// Who is told of damage.
    environment: Option<&'a Inner>,
}

impl<'a> BaseRange<'a> {
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Pair<'a>>, StoreError> {
        let Some(entry) = self.entries.as_mut().and_then(Iterator::next) else {
            return Ok(None);
        };
        let read = match entry {
            Ok((key, stored)) => self.store.unpack(key, stored).map(|value| Some((key, value))),
            Err(error) => Err(StoreError::lmdb(self.directory, "reading", &error)),
        };
        if let (Err(error), Some(environment)) = (&read, self.environment) {
            environment.condemn(error);
        }
        read
    }
}

/// What a buffer reads below its overlay.
pub(crate) struct Base {
    // The transaction goes before the environment that it reads.
    reader: Option<Reader>,
    store: StoreDatabase,
    number: usize,
    environment: Arc<Inner>,
}

/// A read transaction that is counted: the map must not grow while there is one.
struct Reader {
    txn: Option<RoTxn<'static, WithoutTls>>,
    environment: Arc<Inner>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.txn = None;
        self.environment.readers.fetch_sub(1, SeqCst);
    }
}

impl Base {
    /// To be called with the environment's gate locked.
    pub(super) fn open(environment: &Arc<Inner>, number: usize) -> Result<Self, StoreError> {
        let store = environment.store(number).clone();
        let mut base = Self {
            reader: None,
            store,
            number,
            environment: environment.clone(),
        };
        base.renew()?;
        Ok(base)
    }

    /// Ends the read transaction.
    pub(super) fn release(&mut self) {
        self.reader = None;
    }

    /// Begins a read transaction of what is there now. To be called with the environment's gate locked.
    pub(super) fn renew(&mut self) -> Result<(), StoreError> {
        self.reader = None;
        let environment = &self.environment;
        let env = environment.lmdb.map.env();
        let txn = env
            .and_then(|env| env.clone().static_read_txn())
            .map_err(|error| StoreError::lmdb(&environment.directory, "beginning to read", &error))?;
        environment.readers.fetch_add(1, SeqCst);
        self.reader = Some(Reader {
            txn: Some(txn),
            environment: environment.clone(),
        });
        Ok(())
    }

    #[inline]
    fn txn(&self) -> Result<&RoTxn<'static, WithoutTls>, StoreError> {
        match self.reader.as_ref().and_then(|reader| reader.txn.as_ref()) {
            Some(txn) => Ok(txn),
            None => Err(StoreError::io(
                &self.environment.directory,
                "it could not be read again after the last commit; repeat the commit",
            )),
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        self.check_key(key)?;
        let read = self.store.get(self.txn()?, key, &self.environment.directory);
        if let Err(error) = &read {
            self.environment.condemn(error);
        }
        read
    }

    pub(crate) fn range(&self, bounds: Bounds<'_>) -> Result<BaseRange<'_>, StoreError> {
        let range = self.store.range(self.txn()?, bounds, &self.environment.directory);
        match range {
            Ok(range) => Ok(BaseRange {
                environment: Some(&self.environment),
                ..range
            }),
            Err(error) => {
                self.environment.condemn(&error);
                Err(error)
            }
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> Result<u64, StoreError> {
        let length = self.store.database.len(self.txn()?);
        length.map_err(|error| StoreError::lmdb(&self.environment.directory, "reading", &error))
    }

    #[inline]
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), StoreError> {
        if (1..=MAX_KEY_BYTES).contains(&key.len()) {
            Ok(())
        } else {
            Err(self.key_size(key.len()))
        }
    }

    #[inline]
    pub(crate) fn check_value(&self, value: &[u8]) -> Result<(), StoreError> {
        let limit = self.environment.options.max_value_bytes;
        if value.len() <= limit {
            Ok(())
        } else {
            Err(self.value_size(value.len(), limit))
        }
    }

    #[cold]
    fn key_size(&self, length: usize) -> StoreError {
        StoreError::KeySize {
            store: self.store.name.to_string(),
            length,
            limit: MAX_KEY_BYTES,
        }
    }

    #[cold]
    fn value_size(&self, length: usize, limit: usize) -> StoreError {
        StoreError::ValueSize {
            store: self.store.name.to_string(),
            length,
            limit,
        }
    }

    #[inline]
    pub(crate) fn name(&self) -> &str {
        &self.store.name
    }

    /// Whether this reads that store of that environment.
    pub(super) fn reads(&self, environment: &Arc<Inner>, number: usize) -> bool {
        Arc::ptr_eq(&self.environment, environment) && self.number == number
    }
}
