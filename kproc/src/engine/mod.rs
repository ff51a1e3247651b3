//! The task engine, sans-IO: no Kafka, no threads, no clock of its own.
//!
//! A [`Task`] is (processors that share inputs, partition). It is fed batches, picks the next record by
//! timestamp, hands it to each of its processors in turn, and collects what they send (its outbox) and store
//! (their buffers). Whoever runs it produces the outbox, commits the offsets and applies the buffers.
//!
//! What may be here: merging, dispatch, timers, policies, marks. What may not: waiting for anything but a
//! handler, files, topics' partitions, threads.
//!
//! - `factory`: how processors are made, and asked what they declare
//! - `task`: what a task is made of, and what is asked of it from outside
//! - `inputs`: which record is next
//! - `stretch`, `desk`, `unit`: the loop, and how processors take turns in it
//! - `recover`, `failure`: what follows when a turn fails
//! - `owed`, `stream_time`: what is kept with the offsets
//! - `progress`: what is seen of it from other threads
//! - `fired`: what tests are told of timers

mod counters;
mod desk;
mod factory;
mod failure;
mod fired;
mod inputs;
mod owed;
mod progress;
mod recover;
pub mod rig;
mod settings;
pub(crate) mod stream_time;
mod stretch;
mod task;
#[cfg(test)]
mod tests;
mod unit;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use kproc_store::Buffer;

pub(crate) use counters::Counters;
pub(crate) use factory::{Factory, declared, factory};
pub(crate) use failure::{Carry, Failure, Next, Phase, Retrying};
pub use fired::Fired;
pub(crate) use fired::FiredLog;
pub(crate) use progress::{Progress, Seen};
pub(crate) use settings::TaskSettings;
pub(crate) use task::Task;

use crate::record::Offset;

/// Asked between two records: shall the task come to rest? Shared with whoever wants it to, from any thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rest(Arc<AtomicBool>);

impl Rest {
    /// Asks, until [`Rest::clear`].
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Asks no longer.
    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether the task shall come to rest.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why [`Task::run`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nothing can be done without more records or time: see [`Task::wants`] and [`Task::wake_at`].
    Starved,
    /// [`Rest`] asked for it.
    Asked,
    /// Outbox and overlays have passed the budget: produce, or commit, then go on.
    Full,
    /// A handler asked for a commit.
    Commit,
}

/// A buffer on its way out of a task or into it.
pub(crate) struct Attached {
    pub(crate) processor: usize,
    pub(crate) store: usize,
    pub(crate) buffer: Buffer,
}

/// What a commit of a task consists of, besides its outbox.
#[derive(Debug)]
pub(crate) struct TaskCommit {
    /// For each input that was ever read: the next record.
    pub(crate) inputs: Vec<(usize, Offset)>,
    /// Kept with each of the offsets: the encoded stream time, and what is owed. See [`Task::restore_time`].
    pub(crate) metadata: String,
}
