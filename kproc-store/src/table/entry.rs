//! One entry of a table, to read and change in place.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use crate::{
    StoreError,
    buffer::{Buffer, Loaded},
    codec::{Codec, Encode, Own},
};

/// One key of a [`Table`](super::Table) and its value, if it has one.
///
/// Made by [`Table::entry`](super::Table::entry), which has looked the key up; nothing here does so again.
#[must_use = "an entry does nothing until it is used"]
pub struct Entry<'t, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    place: Place<'t>,
    value: Option<V::Owned>,
}

impl<V> fmt::Debug for Entry<'_, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("store", &self.place.buffer.name())
            .finish_non_exhaustive()
    }
}

struct Place<'t> {
    buffer: &'t mut Buffer,
    slot: Loaded,
}

impl Place<'_> {
    #[inline]
    fn write<V: Codec>(&mut self, value: &(impl Encode<V> + ?Sized)) -> Result<(), StoreError> {
        let mut bytes = self.buffer.take_value_scratch();
        let result = match value.encode(&mut bytes) {
            Ok(()) => self.buffer.write_loaded(self.slot, Some(&bytes)),
            Err(error) => Err(StoreError::encode(self.buffer.name(), error)),
        };
        self.buffer.give_value_scratch(bytes);
        result
    }
}

impl<'t, V> Entry<'t, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    #[inline]
    pub(super) fn new(buffer: &'t mut Buffer, slot: Loaded) -> Result<Self, StoreError> {
        let value = match buffer.loaded(slot) {
            Some(bytes) => match V::decode(bytes) {
                Ok(item) => Some(V::own(item)),
                Err(error) => return Err(StoreError::decode(buffer.name(), error)),
            },
            None => None,
        };
        Ok(Self {
            place: Place { buffer, slot },
            value,
        })
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<&V::Owned> {
        self.value.as_ref()
    }

    /// The value, or the default one, which is then stored.
    #[inline]
    pub fn or_default(self) -> ValueMut<'t, V>
    where
        V::Owned: Default,
    {
        self.or_insert_with(V::Owned::default)
    }

    /// The value, or this one, which is then stored.
    #[inline]
    pub fn or_insert(self, value: V::Owned) -> ValueMut<'t, V> {
        self.or_insert_with(|| value)
    }

    /// The value, or the one that `make` makes, which is then stored.
    #[inline]
    pub fn or_insert_with(self, make: impl FnOnce() -> V::Owned) -> ValueMut<'t, V> {
        let changed = self.value.is_none();
        ValueMut {
            place: self.place,
            value: self.value.unwrap_or_else(make),
            changed,
        }
    }

    /// Changes the value, if there is one, and stores it.
    pub fn and_modify(mut self, change: impl FnOnce(&mut V::Owned)) -> Result<Self, StoreError> {
        if let Some(value) = &mut self.value {
            change(value);
            self.place.write::<V>(value)?;
        }
        Ok(self)
    }

    /// Stores a value, and returns the one before.
    pub fn insert(mut self, value: &(impl Encode<V> + ?Sized)) -> Result<Option<V::Owned>, StoreError> {
        self.place.write::<V>(value)?;
        Ok(self.value)
    }

    /// Replaces the value by what `change` makes of it.
    #[inline]
    pub(super) fn change(
        mut self,
        change: impl FnOnce(Option<V::Owned>) -> Option<V::Owned>,
    ) -> Result<(), StoreError> {
        let existed = self.value.is_some();
        match change(self.value.take()) {
            Some(value) => self.place.write::<V>(&value),
            None if existed => self.place.buffer.write_loaded(self.place.slot, None),
            None => Ok(()),
        }
    }

    /// Deletes the key, and returns the value it had.
    pub fn remove(self) -> Result<Option<V::Owned>, StoreError> {
        if self.value.is_some() {
            self.place.buffer.write_loaded(self.place.slot, None)?;
        }
        Ok(self.value)
    }
}

/// A value lent by a table. Changed, it is stored when this goes out of scope.
///
/// What cannot be stored then (too long, or refused by its codec) fails the handler, as if the change itself
/// had returned the error.
#[must_use = "changes are made through it"]
pub struct ValueMut<'t, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    place: Place<'t>,
    value: V::Owned,
    changed: bool,
}

impl<V> fmt::Debug for ValueMut<'_, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueMut")
            .field("store", &self.place.buffer.name())
            .finish_non_exhaustive()
    }
}

impl<V> Deref for ValueMut<'_, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    type Target = V::Owned;

    #[inline]
    fn deref(&self) -> &V::Owned {
        &self.value
    }
}

impl<V> DerefMut for ValueMut<'_, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    #[inline]
    fn deref_mut(&mut self) -> &mut V::Owned {
        self.changed = true;
        &mut self.value
    }
}

impl<V> Drop for ValueMut<'_, V>
where
    V: Own + Codec,
    V::Owned: Encode<V>,
{
    #[inline]
    fn drop(&mut self) {
        // A handler that panics may leave its value half changed.
        if !self.changed || std::thread::panicking() {
            return;
        }
        if let Err(error) = self.place.write::<V>(&self.value) {
            self.place.buffer.fail(error);
        }
    }
}
