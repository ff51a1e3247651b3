//! A task's place in a worker: what the worker knows of it besides its belongings.
//!
//! Data only; what is done with it is in [`worker`](super::worker) and its neighbours.

use std::time::Duration;

use futures_util::future::AbortHandle;

use super::{
    lend::Borrower,
    order::Done,
    plan::Share,
    slot::{Slot, Tenure},
};
use crate::{
    engine::{Failure, Pause, Rest, Task},
    record::Offset,
};

/// A task in a worker.
pub(super) struct Seat {
    pub(super) slot: Slot,
    pub(super) rest: Rest,
    /// How to drop a running activation.
    pub(super) activation: Option<AbortHandle>,
    pub(super) started: bool,
    /// Something may be left to do although no new records come.
    pub(super) unfinished: bool,
    /// When to run again without records.
    pub(super) wake_at: Option<Duration>,
    /// What is known of each input.
    pub(super) known: Vec<Known>,
    pub(super) uncommitted: Uncommitted,
    /// It has handed something to the producer since the last flush.
    pub(super) sent: bool,
    pub(super) fate: Fate,
    /// Fire its wall-clock timers as soon as it rests.
    pub(super) fire_due: Option<Done>,
    /// Its wall-clock timers are to fire before it runs out of things to do.
    pub(super) firing: Option<Done>,
    /// Lend it as soon as it rests.
    pub(super) lend_due: Option<Borrower>,
}

/// What is known of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// What its queue knew at the last look: where it has read to, where the partition ends.
    pub(super) places: (Option<Offset>, Option<Offset>),
    /// How many records to take at once.
    pub(super) limit: usize,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            places: (None, None),
            limit: Share::FIRST_BATCH,
        }
    }
}

/// Whether a task has something to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Uncommitted {
    Nothing,
    Something,
    /// And that is to be committed as soon as the task rests.
    Due,
}

/// What is to become of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    GoesOn,
    /// To be built anew at its last commit, as soon as it rests.
    FallsBack,
    /// To be built anew, as soon as what it did before is committed.
    BuiltAnew,
    /// It is not run any more; what it did before may be committed.
    Failed,
    /// It is not run any more, and nothing of it may be committed.
    Void,
}

impl Seat {
    pub(super) fn at_rest(&self) -> bool {
        self.activation.is_none()
    }

    /// Whether what it has done may be committed now.
    pub(super) fn committable(&self) -> bool {
        self.slot.task.is_some() && matches!(self.fate, Fate::GoesOn | Fate::BuiltAnew | Fate::Failed)
    }
}

/// What a task does while it is away from its seat.
pub(super) enum Activity {
    Start,
    Run,
    Lend(Borrower),
    Stop,
}

/// A task that has come to rest; `None`: its activation was dropped, and the task with it.
pub(super) struct Rested {
    pub(super) tenure: Tenure,
    pub(super) task: Option<Task>,
    pub(super) result: Result<Pause, Failure>,
    pub(super) started: bool,
}
