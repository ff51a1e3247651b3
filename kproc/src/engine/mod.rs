//! The task engine, sans-IO: no Kafka, no threads, no clock of its own.
//!
//! A [`Task`] is (processors that share inputs, partition). It is fed batches, picks the next record by
//! timestamp, hands it to each of its processors in turn, and collects what they send (its outbox) and store
//! (their buffers). Whoever runs it produces the outbox, commits the offsets and applies the buffers.
//!
//! What may be here: merging, dispatch, timers, policies, marks. What may not: waiting for anything but a
//! handler, files, topics' partitions, threads.

use std::{any::Any, time::Duration};

use kproc_store::{Buffer, Store};

use crate::{
    batch::Batch,
    clock::{BoxFuture, Clock},
    error::Error,
    outbox::Outbox,
    record::{Offset, Partition, Timestamp},
};

/// A processor without its type, with what the engine keeps beside it.
#[allow(dead_code)]
pub(crate) trait AnyUnit: Send {
    /// The processor, for tests that look into it.
    fn any(&self) -> &(dyn Any + Send);
    /// Calls `each` with every declared store, in order.
    fn stores(&mut self, each: &mut dyn FnMut(usize, &mut dyn Store));
}

/// A task: processors, inputs, timers, outbox. `Send`: at rest it may move to another thread.
pub(crate) struct Task {}

/// Asked between two records: shall the task come to rest? Shared with whoever wants it to, from any thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rest(std::sync::Arc<std::sync::atomic::AtomicBool>);

/// What ended a task's activation.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The processor.
    pub(crate) processor: std::borrow::Cow<'static, str>,
    /// The record, unless it was a timer or the start: input topic, offset.
    pub(crate) record: Option<(std::sync::Arc<str>, Offset)>,
    /// What went wrong.
    pub(crate) error: Error,
}

/// What a commit of a task consists of, besides its outbox.
pub(crate) struct TaskCommit {
    /// For each input that was read: the next record.
    pub(crate) inputs: Vec<(usize, Offset)>,
    /// Kept with the offsets: the encoded stream time.
    pub(crate) metadata: String,
}

#[allow(
    dead_code,
    unused_variables,
    clippy::todo,
    clippy::unused_self,
    clippy::unused_async
)]
impl Task {
    /// Runs `#[on_start]` of every processor.
    pub(crate) async fn start(&mut self, clock: &dyn Clock) -> Result<(), Failure> {
        todo!()
    }

    /// Whether an input has no buffered record and could use a batch.
    pub(crate) fn wants(&self, input: usize) -> bool {
        todo!()
    }

    /// Gives an input its next records.
    pub(crate) fn feed(&mut self, input: usize, batch: Batch) {
        todo!()
    }

    /// What the input's queue knows: where it has read to, and where the partition ends (KIP-695).
    pub(crate) fn known(&mut self, input: usize, position: Option<Offset>, end: Option<Offset>) {
        todo!()
    }

    /// Processes until nothing can be done without more records or time, or until asked to rest. Then at rest:
    /// between two records.
    pub(crate) async fn run(&mut self, rest: &Rest, clock: &dyn Clock) -> Result<(), Failure> {
        todo!()
    }

    /// When `run` has something to do even without records (monotonic): a timer, the end of an idle wait.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        todo!()
    }

    /// Whether a handler asked for a commit since the last one.
    pub(crate) fn commit_requested(&self) -> bool {
        todo!()
    }

    /// What waits to be produced.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        todo!()
    }

    /// Puts the changelog records of all buffers into the outbox, and says what is to be committed. `None`:
    /// nothing has happened since the last commit.
    pub(crate) fn prepare_commit(&mut self) -> Option<TaskCommit> {
        todo!()
    }

    /// Calls `each` with every open buffer: number of the processor in the task, number of the store.
    pub(crate) fn buffers(&mut self, each: &mut dyn FnMut(usize, usize, &mut Buffer)) {
        todo!()
    }

    /// Runs `#[on_stop]` of every processor.
    pub(crate) async fn stop(&mut self, clock: &dyn Clock) -> Result<(), Failure> {
        todo!()
    }
}

#[allow(dead_code)]
type Unused = (Partition, Timestamp, Option<BoxFuture<'static, ()>>);
