//! Notices a worker whose thread does not come back: a handler that blocks, or calculates for ever.
//!
//! The group does not notice, for the owner keeps the membership alive. Handlers that *wait* (`async`) are not
//! meant: the worker goes on meanwhile.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::clock::Clock;

/// Since when a worker has been busy without a pause.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Nanoseconds of the clock, and 1 more, for 0 means that it is not busy.
    busy_since: AtomicU64,
}

impl Pulse {
    /// Runs the worker's future, and takes its pulse.
    pub(super) async fn of<T>(&self, clock: &dyn Clock, worker: impl Future<Output = T>) -> T {
        let mut worker = pin!(worker);
        poll_fn(|cx| {
            self.busy_since.store(clock.now().as_nanos() as u64 + 1, Relaxed);
            let result = worker.as_mut().poll(cx);
            self.busy_since.store(0, Relaxed);
            result
        })
        .await
    }

    /// For how long it has been busy.
    pub(super) fn busy_for(&self, now: Duration) -> Duration {
        match self.busy_since.load(Relaxed) {
            0 => Duration::ZERO,
            since => now.saturating_sub(Duration::from_nanos(since - 1)),
        }
    }
}
