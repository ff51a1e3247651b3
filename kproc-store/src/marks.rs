//! The mark per record that lets a failed record leave nothing behind.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared by the buffers of one task: where the current record begins, and whether a guard failed in it.
///
/// Beginning a record costs one store to memory however many stores the task has: each buffer notices at its
/// next write that a new record has begun, and forgets what it could have undone of the one before.
#[derive(Debug, Default)]
pub struct Marks {
    record: AtomicU64,
    failed: AtomicBool,
}

impl Marks {
    /// A new record begins; what was written before can no longer be undone singly.
    #[inline]
    pub fn begin(&self) {
        // One thread at a time; the atomics are there because a task at rest may move.
        self.record.store(self.record.load(Relaxed) + 1, Relaxed);
    }

    /// The number of the current record.
    #[inline]
    pub fn record(&self) -> u64 {
        self.record.load(Relaxed)
    }

    /// A guard could not write its value back.
    pub fn fail(&self) {
        self.failed.store(true, Relaxed);
    }

    /// Whether a guard has failed.
    #[inline]
    pub fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Forgets the failure.
    pub fn clear_failure(&self) {
        self.failed.store(false, Relaxed);
    }
}
