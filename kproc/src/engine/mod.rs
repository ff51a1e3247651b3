//! The task engine, sans-IO: no Kafka, no threads, no clock of its own.
//!
//! A [`Task`] is (processors that share inputs, partition). It is fed batches, picks the next record by
//! timestamp, hands it to each of its processors in turn, and collects what they send (its outbox) and store
//! (their buffers). Whoever runs it produces the outbox, commits the offsets and applies the buffers.
//!
//! What may be here: merging, dispatch, timers, policies, marks. What may not: waiting for anything but a
//! handler, files, topics' partitions, threads.

mod failure;
mod settings;
mod unit;

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kproc_store::{Buffer, Marks};

pub(crate) use failure::{Carry, Failure, Next, Phase, Retrying};
pub(crate) use settings::TaskSettings;
pub(crate) use unit::{AnyUnit, unit};

use crate::{
    batch::Batch,
    clock::Clock,
    outbox::Outbox,
    record::{Offset, Partition},
    topology::Topology,
};

/// A task: processors, inputs, timers, outbox. `Send`: at rest it may move to another thread.
///
/// In all its methods an *input* is a number into the group's `inputs` of the [`Topology`], a *processor* a
/// number into the topology's `processors`, a *store* a number into the processor's `stores`.
pub(crate) struct Task {}

/// Asked between two records: shall the task come to rest? Shared with whoever wants it to, from any thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rest(Arc<AtomicBool>);

#[allow(dead_code)]
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
#[allow(dead_code)]
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
#[allow(dead_code)]
pub(crate) struct Attached {
    pub(crate) processor: usize,
    pub(crate) store: usize,
    pub(crate) buffer: Buffer,
}

/// What a commit of a task consists of, besides its outbox.
#[allow(dead_code)]
#[derive(Debug)]
pub(crate) struct TaskCommit {
    /// For each input that was ever read: the next record.
    pub(crate) inputs: Vec<(usize, Offset)>,
    /// Kept with each of the offsets: the encoded stream time. See [`Task::restore_time`].
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
    /// A task of the topology's group with this number, its stores not open yet: [`Task::attach`] every one,
    /// [`Task::restore_time`], then [`Task::start`]. `carry` is the default, or after a fall-back what
    /// [`Task::take_carry`] gave.
    pub(crate) fn new(
        topology: &Arc<Topology>,
        group: usize,
        partition: Partition,
        settings: &TaskSettings,
        carry: Carry,
    ) -> Self {
        todo!()
    }

    /// To be shared by all buffers of the task.
    pub(crate) fn marks(&self) -> &Arc<Marks> {
        todo!()
    }

    /// Opens a store.
    pub(crate) fn attach(&mut self, attached: Attached) {
        todo!()
    }

    /// Closes all open stores and gives their buffers back, ordered by processor and store: to commit them
    /// (then [`Task::attach`] them again) or to close their environments.
    pub(crate) fn detach(&mut self) -> Vec<Attached> {
        todo!()
    }

    /// Takes stream time from what was committed with an input's offset; the highest counts. Texts of unknown
    /// form are passed over.
    pub(crate) fn restore_time(&mut self, metadata: &str) {
        todo!()
    }

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

    /// What the input's queue knows: where it has read to, and where the partition ends (KIP-695). An input of
    /// which nothing is known yet (`None`) may have records, so it holds the others back: call this for each
    /// input after each look into its queue, whether it gave a batch or not.
    pub(crate) fn known(&mut self, input: usize, position: Option<Offset>, end: Option<Offset>) {
        todo!()
    }

    /// Processes until nothing can be done without more records or time, or until asked to rest, or until
    /// outbox and overlays together hold more than `budget` bytes. Then at rest: between two records.
    ///
    /// After a [`Failure`] the task is at rest, too, with the effects of what failed undone: what was done
    /// before can be committed, unless the failure asks for a fall-back.
    ///
    /// Not cancel-safe: a task whose `run` was dropped can only be dropped.
    pub(crate) async fn run(
        &mut self,
        rest: &Rest,
        budget: usize,
        clock: &dyn Clock,
    ) -> Result<Pause, Failure> {
        todo!()
    }

    /// When `run` has something to do even without records (monotonic): a timer, the end of an idle wait or
    /// of a back-off.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        todo!()
    }

    /// Whether a handler asked for a commit since the last [`Task::prepare_commit`].
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

    /// Fires every wall-clock timer once, whether due or not: for the end of a run that ends with its input.
    pub(crate) async fn fire_wall_timers(&mut self, clock: &dyn Clock) -> Result<(), Failure> {
        todo!()
    }

    /// Runs `#[on_stop]` of every processor. What is sent and stored there is still to be committed.
    pub(crate) async fn stop(&mut self, clock: &dyn Clock) -> Result<(), Failure> {
        todo!()
    }

    /// What a fall-back must not forget: records to be passed over, attempts made.
    pub(crate) fn take_carry(&mut self) -> Carry {
        todo!()
    }

    /// A processor, for tests that look into it.
    pub(crate) fn processor(&self, processor: usize) -> Option<&(dyn Any + Send)> {
        todo!()
    }
}
