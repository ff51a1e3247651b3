//! A task and its belongings, which pass from hand to hand: owner, restorer, worker, and back.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use kproc_store::Environment;
use tokio::sync::OwnedMutexGuard;

use super::origin::Origin;
use crate::{
    TaskId,
    cluster::{CommittedOffset, Ownership, Queue, RevokeToken},
    engine::{Carry, Task},
    record::{Offset, TopicPartition},
};

/// One time that this instance has a task: it may lose the task and get it again while something of the first
/// time is still under way. Messages about a task name its tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tenure {
    pub(super) task: TaskId,
    pub(super) number: u64,
}

/// Who may have the directories of a task open. Taken before they are opened, given back after they are closed.
pub(super) type Lease = OwnedMutexGuard<()>;

/// Held by all that must have ended before a revocation is released.
#[derive(Clone)]
pub(super) struct Token {
    /// When ownership ends in any case.
    pub(super) deadline: Duration,
    /// Never locked: the mutex only makes it `Sync`.
    _release: Arc<Mutex<RevokeToken>>,
}

impl Token {
    pub(super) fn new(token: RevokeToken) -> Self {
        Self {
            deadline: token.deadline,
            _release: Arc::new(Mutex::new(token)),
        }
    }
}

/// A task's belongings. The order of the fields is the order in which they must be dropped.
pub(super) struct Slot {
    pub(super) tenure: Tenure,
    /// `None` while it runs, and before it is built.
    pub(super) task: Option<Task>,
    /// One for each processor that has stores; empty before they are opened.
    pub(super) kept: Vec<Kept>,
    /// In the order of the group's inputs.
    pub(super) inputs: Vec<Input>,
    /// What a fall-back has kept.
    pub(super) carry: Carry,
    /// Fall-backs for the cluster's sake since the last commit.
    pub(super) falls: u32,
    /// `None`: it has no changelogs, or was not restored yet.
    pub(super) vouch: Option<Vouch>,
    pub(super) lease: Option<Lease>,
}

/// The state of one processor in one partition.
pub(super) struct Kept {
    /// The processor's number in the topology.
    pub(super) processor: usize,
    pub(super) environment: Environment,
    /// Where each store's changelog is, and the position that the environment corresponds to.
    pub(super) changelogs: Vec<Changelog>,
}

/// The changelog of one store in one partition.
pub(super) struct Changelog {
    /// The store's number in its processor.
    pub(super) store: usize,
    pub(super) partition: TopicPartition,
    /// The place after the last record that the state contains.
    pub(super) next: Option<Offset>,
}

/// When it is to be noted of a task's state that it is up to date, if there is nothing to commit for so long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vouch {
    interval: Duration,
    due: Duration,
}

impl Vouch {
    /// It is up to date now.
    pub(super) fn new(interval: Duration, now: Duration) -> Self {
        let due = now.saturating_add(interval);
        Self { interval, due }
    }

    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.due <= now
    }

    /// Not before so much time has passed again.
    pub(super) fn put_off(&mut self, now: Duration) {
        *self = Self::new(self.interval, now);
    }
}

/// One input of a task.
pub(super) struct Input {
    pub(super) partition: TopicPartition,
    pub(super) ownership: Ownership,
    pub(super) queue: Box<dyn Queue>,
    /// The last commit.
    pub(super) committed: Option<CommittedOffset>,
    /// Which topic it is, as the group first met it.
    pub(super) origin: Option<Origin>,
}

impl Slot {
    /// Puts everything away in good order.
    pub(super) fn close(mut self) {
        self.task = None;
        self.close_environments();
    }

    /// Closes the environments, which no task uses. What cannot be closed well is checked when it is opened next.
    pub(super) fn close_environments(&mut self) {
        for kept in self.kept.drain(..) {
            if let Err(error) = kept.environment.close() {
                tracing::warn!(task = %self.tenure.task, %error, "state was not closed well");
            }
        }
    }
}
