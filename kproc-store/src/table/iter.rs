//! Typed iteration.

use std::{fmt, marker::PhantomData};

use crate::{
    StoreError,
    buffer::Merge,
    codec::{Codec, KeyCodec},
};

/// Entries of a [`Table`](super::Table) in key order. Borrows the table, so nothing changes under it.
///
/// An entry that cannot be read is an error item; what comes after it is still there.
#[must_use = "an iterator does nothing until it is used"]
pub struct Iter<'t, K, V> {
    state: State<'t>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> fmt::Debug for Iter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

enum State<'t> {
    Open {
        store: &'t str,
        entries: Merge<'t>,
    },
    /// Could not begin: one error item.
    Failed(StoreError),
    Done,
}

impl<'t, K, V> Iter<'t, K, V> {
    pub(super) fn new(store: &'t str, entries: Merge<'t>) -> Self {
        Self {
            state: State::Open { store, entries },
            types: PhantomData,
        }
    }

    pub(super) fn failed(error: StoreError) -> Self {
        Self {
            state: State::Failed(error),
            types: PhantomData,
        }
    }
}

impl<'t, K: KeyCodec, V: Codec> Iterator for Iter<'t, K, V> {
    type Item = Result<(K::Item<'t>, V::Item<'t>), StoreError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.state {
            State::Open { store, entries } => match entries.next() {
                Ok(Some((key, value))) => Some(decode::<K, V>(store, key, value)),
                Ok(None) => None,
                Err(error) => {
                    if !matches!(error, StoreError::Corrupt { .. }) {
                        self.state = State::Done;
                    }
                    Some(Err(error))
                }
            },
            State::Failed(_) => match std::mem::replace(&mut self.state, State::Done) {
                State::Failed(error) => Some(Err(error)),
                State::Open { .. } | State::Done => None,
            },
            State::Done => None,
        }
    }
}

#[inline]
pub(super) fn decode<'t, K: KeyCodec, V: Codec>(
    store: &str,
    key: &'t [u8],
    value: &'t [u8],
) -> Result<(K::Item<'t>, V::Item<'t>), StoreError> {
    let bad = |error| StoreError::decode(store, error);
    Ok((K::decode_key(key).map_err(bad)?, V::decode(value).map_err(bad)?))
}
