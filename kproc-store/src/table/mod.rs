//! The keyed store: types over a [`Buffer`]'s bytes.

mod entry;
mod iter;

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

pub use entry::{Entry, ValueMut};
pub use iter::Iter;

use crate::{
    Buffer, Store, StoreError, StoreSpec, StoreText,
    buffer::Bounds,
    codec::{Codec, Encode, EncodePrefix, KeyCodec, Own, StoreKey},
};

/// A keyed store: values of `V` under keys of `K`, in key order.
///
/// A field of a processor, marked `#[state]`. kproc opens it before the first handler runs, with what it held
/// when the processor last ran, on this machine or on another one: what is written goes to a changelog too.
/// Until then every call returns [`StoreError::Detached`].
///
/// What is written is seen by reads at once. It becomes permanent, all of it or none, when the records that
/// wrote it are committed; what a failed record wrote is taken back.
///
/// Keys and values are encoded when they are passed in, and decoded when they come out. A key has 1 to 511
/// bytes when encoded: an empty string is not a key. How large a value may be is a setting, 1023 KiB by default. A call
/// that returns an error has changed nothing.
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
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<String, String>();
    /// table.put("plum", "blue")?;
    /// assert_eq!(table.get("plum")?, Some("blue"));
    /// assert_eq!(table.get("pear")?, None);
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    #[inline]
    pub fn get(&self, key: &(impl StoreKey<K> + ?Sized)) -> Result<Option<V::Item<'_>>, StoreError> {
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
    pub fn contains(&self, key: &(impl StoreKey<K> + ?Sized)) -> Result<bool, StoreError> {
        let buffer = self.open()?;
        with_key(buffer, key, |key| Ok(buffer.get(key)?.is_some()))
    }

    /// Stores `value` under `key`, in place of the one before, if any.
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<(String, u32), i64>();
    /// table.put(&("plum", 2013), &120)?;
    /// table.put(&("plum", 2013), &125)?;
    /// assert_eq!(table.get(&("plum", 2013))?, Some(125));
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    #[inline]
    pub fn put(
        &mut self,
        key: &(impl StoreKey<K> + ?Sized),
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
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<u64, bool>();
    /// table.put(&7, &true)?;
    /// table.delete(&7)?;
    /// assert!(!table.contains(&7)?);
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    #[inline]
    pub fn delete(&mut self, key: &(impl StoreKey<K> + ?Sized)) -> Result<(), StoreError> {
        with_key_mut(self.open_mut()?, key, Buffer::delete)
    }

    /// The value under `key`, to read and change in place: one look-up for both.
    ///
    /// For values that have an owned form. Those that borrow use [`get`](Self::get) and [`put`](Self::put).
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<String, i64>();
    /// for word in ["plum", "pear", "plum"] {
    ///     *table.entry(word)?.or_default() += 1;
    /// }
    /// assert_eq!(table.get("plum")?, Some(2));
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    #[inline]
    pub fn entry(&mut self, key: &(impl StoreKey<K> + ?Sized)) -> Result<Entry<'_, V>, StoreError>
    where
        V: Own<Owned: Encode<V>>,
    {
        let buffer = self.open_mut()?;
        let slot = with_key_mut(buffer, key, Buffer::load)?;
        Entry::new(buffer, slot)
    }

    /// Replaces the value under `key` by what `change` makes of it; `None` is no value, before and after.
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<String, i64>();
    /// // Counts down, and forgets what has come to zero.
    /// table.put("plum", &2)?;
    /// for _ in 0..2 {
    ///     table.update("plum", |left| left.map(|n| n - 1).filter(|n| *n > 0))?;
    /// }
    /// assert_eq!(table.get("plum")?, None);
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    #[inline]
    pub fn update(
        &mut self,
        key: &(impl StoreKey<K> + ?Sized),
        change: impl FnOnce(Option<V::Owned>) -> Option<V::Owned>,
    ) -> Result<(), StoreError>
    where
        V: Own<Owned: Encode<V>>,
    {
        self.entry(key)?.change(change)
    }

    /// All entries, in key order. So does `for entry in &table`.
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<String, i64>();
    /// table.put("plum", &2)?;
    /// table.put("apple", &1)?;
    /// for entry in table.iter() {
    ///     let (word, count) = entry?;
    ///     println!("{word}: {count}"); // apple, then plum
    /// }
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.between(ALL)
    }

    /// The entries whose keys are in `keys`, in key order. Bounds that enclose nothing are no error.
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<i32, String>();
    /// for year in [1994, 2013, 2024] {
    ///     table.put(&year, "good")?;
    /// }
    /// let years: Vec<i32> = table.range(2000..).map(|entry| Ok(entry?.0)).collect::<Result<_, kproc_store::StoreError>>()?;
    /// assert_eq!(years, [2013, 2024]);
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    pub fn range<Q: StoreKey<K>>(&self, keys: impl RangeBounds<Q>) -> Iter<'_, K, V> {
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

    /// The entries whose keys begin so, in key order: with this text, these bytes, or these parts of a tuple.
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<(String, u32), i64>();
    /// table.put(&("ab", 1), &10)?;
    /// table.put(&("ab", 2), &20)?;
    /// table.put(&("abc", 3), &30)?;
    /// assert_eq!(table.prefix(&("ab",)).count(), 2);
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    pub fn prefix(&self, prefix: &(impl EncodePrefix<K> + ?Sized)) -> Iter<'_, K, V> {
        let mut first = Vec::new();
        let encoded = self.open().and_then(|buffer| {
            prefix
                .put_prefix(&mut first)
                .map_err(|error| StoreError::encode(buffer.name(), error))
        });
        match encoded {
            Ok(()) => match after_prefix(&first) {
                Some(after) => self.between((Bound::Included(&first), Bound::Excluded(&after))),
                None => self.between((Bound::Included(&first), Bound::Unbounded)),
            },
            Err(error) => Iter::failed(error),
        }
    }

    fn between(&self, bounds: Bounds<'_>) -> Iter<'_, K, V> {
        match self
            .open()
            .and_then(|buffer| Ok((buffer.name(), buffer.range(bounds)?)))
        {
            Ok((store, entries)) => Iter::new(store, entries),
            Err(error) => Iter::failed(error),
        }
    }

    /// Deletes the entries for which `keep` returns false. The first error ends it, and nothing is deleted then.
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/table.rs")); }
    /// # let (mut table, _open) = doc::table::<String, i64>();
    /// table.put("plum", &2)?;
    /// table.put("pear", &0)?;
    /// table.retain(|_, count| count > 0)?;
    /// assert_eq!(table.len()?, 1);
    /// # Ok::<(), kproc_store::StoreError>(())
    /// ```
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(K::Item<'_>, V::Item<'_>) -> bool,
    ) -> Result<(), StoreError> {
        let buffer = self.open_mut()?;
        // All keys first, one after the other, then the deletions: an iterator sees no write.
        let (mut keys, mut ends) = (Vec::new(), Vec::new());
        let mut entries = buffer.range(ALL)?;
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

    /// How many entries there are. Takes a look-up for each key that was written since the last commit.
    pub fn len(&self) -> Result<usize, StoreError> {
        self.open()?.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.open()?.range(ALL)?.next()?.is_none())
    }
}

const ALL: Bounds<'static> = (Bound::Unbounded, Bound::Unbounded);

/// The first key after all that begin with `prefix`; `None` if there can be none.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

/// Encodes `key` into the buffer's scratch memory for `f`.
#[inline]
fn with_key<K: KeyCodec, R>(
    buffer: &Buffer,
    key: &(impl StoreKey<K> + ?Sized),
    f: impl FnOnce(&[u8]) -> Result<R, StoreError>,
) -> Result<R, StoreError> {
    let bytes = encode_key(buffer, key)?;
    let result = f(&bytes);
    buffer.give_key_scratch(bytes);
    result
}

/// The same for an `f` that changes the buffer.
#[inline]
fn with_key_mut<K: KeyCodec, R>(
    buffer: &mut Buffer,
    key: &(impl StoreKey<K> + ?Sized),
    f: impl FnOnce(&mut Buffer, &[u8]) -> Result<R, StoreError>,
) -> Result<R, StoreError> {
    let bytes = encode_key(buffer, key)?;
    let result = f(buffer, &bytes);
    buffer.give_key_scratch(bytes);
    result
}

#[inline]
fn encode_key<K: KeyCodec>(
    buffer: &Buffer,
    key: &(impl StoreKey<K> + ?Sized),
) -> Result<Vec<u8>, StoreError> {
    let mut bytes = buffer.take_key_scratch();
    match key.put(&mut bytes, true) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(StoreError::encode(buffer.name(), error)),
    }
}

fn encode_bound<'a, K: KeyCodec>(
    buffer: &Buffer,
    bound: Bound<&impl StoreKey<K>>,
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

impl<'t, K: KeyCodec, V: Codec> IntoIterator for &'t Table<K, V> {
    type Item = <Iter<'t, K, V> as Iterator>::Item;
    type IntoIter = Iter<'t, K, V>;

    fn into_iter(self) -> Iter<'t, K, V> {
        self.iter()
    }
}

impl<K, V> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("store", &self.buffer.as_deref().map(Buffer::name))
            .finish_non_exhaustive()
    }
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

    fn text(&self) -> StoreText {
        StoreText {
            key_to_text: K::key_to_text,
            key_from_text: |text, out| K::put_text(text, out, true),
            value_to_text: V::to_text,
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
