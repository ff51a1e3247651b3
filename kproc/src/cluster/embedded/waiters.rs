//! Who waits for more records. A waker is stored first, and the log is looked at then.

use std::{collections::BTreeMap, task::Waker};

/// Wakers by the number of who waits.
#[derive(Default)]
pub(super) struct Waiters(BTreeMap<u64, Waker>);

impl Waiters {
    /// Stores a waker; returns the one it replaces, to be dropped without the lock.
    #[must_use]
    pub(super) fn store(&mut self, number: u64, waker: Waker) -> Option<Waker> {
        self.0.insert(number, waker)
    }

    /// Forgets who waits no more.
    #[must_use]
    pub(super) fn forget(&mut self, number: u64) -> Option<Waker> {
        self.0.remove(&number)
    }

    /// All wakers, to be woken without the lock.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.0).into_values()
    }
}
