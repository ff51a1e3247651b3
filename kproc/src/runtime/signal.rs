//! A value that many wait for.
//!
//! Instead of tokio's `watch`, which wakes its waiters in an order drawn at random, outside the clock: here they
//! are woken in the order in which they came.

use std::{
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Signal<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T: Clone> Signal<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        // Changes are whole or not made.
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self) -> T {
        self.lock().clone()
    }

    /// Changes the value.
    pub(super) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// Waits until `find` finds what it looks for.
    pub(super) async fn find<R>(&self, mut find: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Before the look, so that no change comes between.
            changed.as_mut().enable();
            if let Some(found) = find(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }
}
