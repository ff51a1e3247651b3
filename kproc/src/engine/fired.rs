//! Which timers have fired, for tests that want to know.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    record::{Partition, Timestamp},
    timer::{Timer, TimerClock},
};

/// A timer that has fired.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fired {
    /// The processor's name.
    pub processor: String,
    /// The task's partition.
    pub partition: Partition,
    /// Which timer.
    pub timer: Timer,
    /// What it goes by.
    pub clock: TimerClock,
    /// What its clock showed.
    pub now: Timestamp,
}

/// Timers that have fired, in order. All clones are the same log.
#[derive(Debug, Clone, Default)]
pub(crate) struct FiredLog(Arc<Mutex<Vec<Fired>>>);

impl FiredLog {
    fn lock(&self) -> MutexGuard<'_, Vec<Fired>> {
        // Nothing can fail under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, fired: Fired) {
        self.lock().push(fired);
    }

    /// Takes a processor's out of the log.
    pub(crate) fn take(&self, processor: &str) -> Vec<Fired> {
        let mut log = self.lock();
        let (taken, left) = log.drain(..).partition(|fired| fired.processor == processor);
        *log = left;
        taken
    }
}
