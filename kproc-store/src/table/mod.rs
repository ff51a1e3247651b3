//! The keyed store: types over a [`Buffer`]'s bytes.

mod entry;
mod iter;

use std::{
    borrow::Cow,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

pub use entry::{Entry, ValueMut};
pub use iter::Iter;

use crate::{
    Buffer, Store, StoreError, StoreSpec,
    codec::{Codec, Encode, EncodeKey, KeyCodec, Own},
};

/// A keyed store: values of `V` under keys of `K`, in key order.
pub struct Table<K, V> {
    buffer: Option<Box<Buffer>>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self {
            buffer: None,
            types: PhantomData,
        }
    }
}

const DETACHED: StoreError = StoreError::Detached { kind: "table" };

impl<K, V> Table<K, V> {
    #[inline]
    fn open(&self) -> Result<&Buffer, StoreError> {
        self.buffer.as_deref().ok_or(DETACHED)
    }

    #[inline]
    fn open_mut(&mut self) -> Result<&mut Buffer, StoreError> {
        self.buffer.as_deref_mut().ok_or(DETACHED)
    }
}

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// The value under `key`.
    ///
    /// Text and bytes borrow from the table; numbers and types that own their data do not.
    #[inline]
    pub fn get(&self, key: &(impl EncodeKey<K> + ?Sized)) -> Result<Option<V::Item<'_>>, StoreError> {
        let buffer = self.open()?;
        match with_key(buffer, key, |key| buffer.get(key))? {
            Some(bytes) => match V::decode(bytes) {
                Ok(item) => Ok(Some(item)),
                Err(error) => Err(StoreError::decode(buffer.name(), error)),
            },
            None => Ok(None),
        }
    }

    /// Whether there is a value under `key`.
    #[inline]
    pub fn contains(&self, key: &(impl EncodeKey<K> + ?Sized)) -> Result<bool, StoreError> {
        let buffer = self.open()?;
        with_key(buffer, key, |key| Ok(buffer.get(key)?.is_some()))
    }

    /// Stores `value` under `key`.
    #[inline]
    pub fn put(
        &mut self,
        key: &(impl EncodeKey<K> + ?Sized),
        value: &(impl Encode<V> + ?Sized),
    ) -> Result<(), StoreError> {
        let buffer = self.open_mut()?;
        let mut bytes = buffer.take_value_scratch();
        let result = match value.encode(&mut bytes) {
            Ok(()) => with_key_mut(buffer, key, |buffer, key| buffer.put(key, &bytes)),
            Err(error) => Err(StoreError::encode(buffer.name(), error)),
        };
        buffer.give_value_scratch(bytes);
        result
    }

    /// Deletes `key`; it need not exist.
    #[inline]
    pub fn delete(&mut self, key: &(impl EncodeKey<K> + ?Sized)) -> Result<(), StoreError> {
        with_key_mut(self.open_mut()?, key, Buffer::delete)
    }

    /// The value under `key`, to read and change in place: one look-up for both.
    ///
    /// For values that have an owned form. Those that borrow use [`get`](Self::get) and [`put`](Self::put).
    #[inline]
    pub fn entry(&mut self, key: &(impl EncodeKey<K> + ?Sized)) -> Result<Entry<'_, V>, StoreError>
    where
        V: Own<Owned: Encode<V>>,
    {
        let buffer = self.open_mut()?;
        let slot = with_key_mut(buffer, key, Buffer::load)?;
        Entry::new(buffer, slot)
    }

    /// Replaces the value under `key` by what `change` makes of it; `None` is no value, before and after.
    #[inline]
    pub fn update(
        &mut self,
        key: &(impl EncodeKey<K> + ?Sized),
        change: impl FnOnce(Option<V::Owned>) -> Option<V::Owned>,
    ) -> Result<(), StoreError>
    where
        V: Own<Owned: Encode<V>>,
    {
        self.entry(key)?.change(change)
    }

    /// All entries, in key order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.between((Bound::Unbounded, Bound::Unbounded))
    }

    /// The entries whose keys are in `keys`, in key order.
    pub fn range<Q: EncodeKey<K>>(&self, keys: impl RangeBounds<Q>) -> Iter<'_, K, V> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        let bounds = self.open().and_then(|buffer| {
            let start = encode_bound(buffer, keys.start_bound(), &mut first)?;
            let end = encode_bound(buffer, keys.end_bound(), &mut last)?;
            Ok((start, end))
        });
        match bounds {
            Ok(bounds) => self.between(bounds),
            Err(error) => Iter::failed(error),
        }
    }

    fn between(&self, bounds: crate::buffer::Bounds<'_>) -> Iter<'_, K, V> {
        match self
            .open()
            .and_then(|buffer| Ok((buffer.name(), buffer.range(bounds)?)))
        {
            Ok((store, entries)) => Iter::new(store, entries),
            Err(error) => Iter::failed(error),
        }
    }

    /// Deletes the entries for which `keep` returns false. The first error ends it, and nothing is deleted then.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(K::Item<'_>, V::Item<'_>) -> bool,
    ) -> Result<(), StoreError> {
        let buffer = self.open_mut()?;
        // All keys first, one after the other, then the deletions: an iterator sees no write.
        let (mut keys, mut ends) = (Vec::new(), Vec::new());
        let mut entries = buffer.range((Bound::Unbounded, Bound::Unbounded))?;
        while let Some((key, value)) = entries.next()? {
            let (item, value) = iter::decode::<K, V>(buffer.name(), key, value)?;
            if !keep(item, value) {
                keys.extend_from_slice(key);
                ends.push(keys.len());
            }
        }
        drop(entries);
        let mut start = 0;
        for end in ends {
            buffer.delete(&keys[start..end])?;
            start = end;
        }
        Ok(())
    }

    /// How many entries there are. Counts them, so it takes as long as iterating.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> Result<usize, StoreError> {
        let mut entries = self.open()?.range((Bound::Unbounded, Bound::Unbounded))?;
        let mut count = 0;
        while entries.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

/// Encodes `key` into the buffer's scratch memory for `f`.
#[inline]
fn with_key<K: KeyCodec, R>(
    buffer: &Buffer,
    key: &(impl EncodeKey<K> + ?Sized),
    f: impl FnOnce(&[u8]) -> Result<R, StoreError>,
) -> Result<R, StoreError> {
    let mut bytes = buffer.scratch().key.take();
    bytes.clear();
    let result = match key.put(&mut bytes, true) {
        Ok(()) => f(&bytes),
        Err(error) => Err(StoreError::encode(buffer.name(), error)),
    };
    buffer.scratch().key.set(bytes);
    result
}

/// Encodes `key` into the buffer's scratch memory for `f`.
#[inline]
fn with_key_mut<K: KeyCodec, R>(
    buffer: &mut Buffer,
    key: &(impl EncodeKey<K> + ?Sized),
    f: impl FnOnce(&mut Buffer, &[u8]) -> Result<R, StoreError>,
) -> Result<R, StoreError> {
    let mut bytes = buffer.scratch().key.take();
    bytes.clear();
    let result = match key.put(&mut bytes, true) {
        Ok(()) => f(buffer, &bytes),
        Err(error) => Err(StoreError::encode(buffer.name(), error)),
    };
    buffer.scratch().key.set(bytes);
    result
}

fn encode_bound<'a, K: KeyCodec>(
    buffer: &Buffer,
    bound: Bound<&impl EncodeKey<K>>,
    bytes: &'a mut Vec<u8>,
) -> Result<Bound<&'a [u8]>, StoreError> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => {
            key.put(bytes, true)
                .map_err(|error| StoreError::encode(buffer.name(), error))?;
        }
        Bound::Unbounded => {}
    }
    Ok(match bound {
        Bound::Included(_) => Bound::Included(bytes),
        Bound::Excluded(_) => Bound::Excluded(bytes),
        Bound::Unbounded => Bound::Unbounded,
    })
}

impl<K: KeyCodec, V: Codec> Store for Table<K, V> {
    fn spec(&self, name: Cow<'static, str>) -> StoreSpec {
        StoreSpec {
            name,
            kind: "table",
            key: K::key_name(),
            value: V::name(),
        }
    }

    fn attach(&mut self, buffer: Buffer) {
        self.buffer = Some(Box::new(buffer));
    }

    fn detach(&mut self) -> Option<Buffer> {
        self.buffer.take().map(|buffer| *buffer)
    }

    fn buffer(&mut self) -> Option<&mut Buffer> {
        self.buffer.as_deref_mut()
    }
}
