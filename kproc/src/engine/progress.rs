//! How far a task is, for whoever watches it from another thread.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::record::Offset;

/// Written by the task, which never waits for it: two stores a record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    at_work: AtomicBool,
    /// Counts the turns that have begun.
    turns: AtomicU64,
    /// The number of the input whose record is being processed, and 1 more; 0: it is no record.
    input: AtomicUsize,
    offset: AtomicU64,
}

/// What somebody saw of a task that is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// How many turns have begun. The same number again: it is still in the same one.
    pub(crate) turns: u64,
    /// The record that it is at, by the number of its input.
    pub(crate) record: Option<(usize, Offset)>,
}

impl Progress {
    /// The task goes to work, or has come to rest.
    pub(crate) fn at_work(&self, at_work: bool) {
        if at_work {
            self.turn();
        }
        self.0.at_work.store(at_work, Relaxed);
    }

    /// A turn begins that is no record's.
    pub(crate) fn turn(&self) {
        self.0.input.store(0, Relaxed);
        self.count();
    }

    /// A record's turns begin.
    #[inline]
    pub(crate) fn record(&self, input: usize, offset: Option<Offset>) {
        if let Some(offset) = offset {
            self.0.input.store(input + 1, Relaxed);
            self.0.offset.store(offset.get(), Relaxed);
        }
        self.count();
    }

    /// Only the task counts.
    #[inline]
    fn count(&self) {
        let turns = self.0.turns.load(Relaxed);
        self.0.turns.store(turns.wrapping_add(1), Relaxed);
    }

    /// What it is at; `None`: it rests.
    pub(crate) fn seen(&self) -> Option<Seen> {
        let at_work = self.0.at_work.load(Relaxed);
        at_work.then(|| {
            let input = self.0.input.load(Relaxed).checked_sub(1);
            Seen {
                turns: self.0.turns.load(Relaxed),
                record: input.map(|input| (input, Offset::new(self.0.offset.load(Relaxed)))),
            }
        })
    }
}
