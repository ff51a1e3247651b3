//! At least once: whether the brokers have answered lately.
//!
//! Whoever is not heard of for longer than its session, because its process stood still or was cut off, may have lost its
//! partitions, and what it had not written by then must not be written any more. That nothing answers is how it is noticed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::clock::Clock;

/// When there were answers. (Times are in nanoseconds of the clock.)
pub(super) struct Answers {
    /// There must be one within so much time.
    patience: u64,
    clock: Arc<dyn Clock>,
    /// The last one.
    last: AtomicU64,
    /// What was sent before this had to wait too long for one.
    stale: AtomicU64,
}

impl Answers {
    pub(super) fn new(patience: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            patience: nanos(patience),
            clock,
            last: AtomicU64::new(0),
            stale: AtomicU64::new(0),
        }
    }

    /// Now.
    pub(super) fn now(&self) -> u64 {
        nanos(self.clock.now())
    }

    /// A broker has answered. (One thread hears of that.)
    pub(super) fn heard(&self) {
        let now = self.now();
        if now.saturating_sub(self.last()) > self.patience {
            self.stale.store(now - self.patience, Ordering::Relaxed);
        }
        // After the other one: whoever sees this sees that.
        self.last.store(now, Ordering::Release);
    }

    /// When the last one came.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Whether what has waited for an answer since then is not to be written any more.
    pub(super) fn is_stale(&self, since: u64) -> bool {
        let (now, last) = (self.now(), self.last());
        now.saturating_sub(last.max(since)) > self.patience || since < self.stale.load(Ordering::Relaxed)
    }
}

fn nanos(time: Duration) -> u64 {
    // For five centuries.
    time.as_nanos() as u64
}
