//! What an instance is doing, for whoever asks: the handle, the command line, health checks.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    error::RunError,
    order::Rests,
    pulse::Pulse,
    signal::Signal,
    slot::{Tenure, Token},
};
use crate::{TaskId, record::Partition};

/// What an application is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// All in one word.
    pub state: RunState,
    /// Its tasks, ordered by group and partition.
    pub tasks: Vec<TaskStatus>,
    /// What went wrong first.
    pub failure: Option<RunError>,
}

/// An application's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// Topics are being checked and the group is being joined.
    Starting,
    /// It works, or waits for partitions or records.
    Running,
    /// It works, and some of its tasks are still restoring their state.
    Restoring,
    /// It was asked to stop, or has failed, and is putting its tasks away.
    Stopping,
    /// It has stopped as it was asked to.
    Stopped,
    /// It has stopped because of a failure.
    Failed,
}

/// What a task is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskStatus {
    /// The number of its group of processors.
    pub group: usize,
    /// Its partition.
    pub partition: Partition,
    /// What it is doing.
    pub phase: TaskPhase,
    /// What its last restore took, once it is over.
    pub restored: Option<Restored>,
}

/// What it took to bring a task's state to its last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Records that were read from changelogs: those that the state on disk did not have.
    pub replayed: u64,
    /// Entries that the task's stores had then.
    pub entries: u64,
}

/// What a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskPhase {
    /// Its state is being opened and brought up to date.
    Restoring {
        /// Changelog records passed so far.
        done: u64,
        /// How many there were to pass when it began; 0 while that is not known.
        total: u64,
    },
    /// It is processed by the worker of this number.
    Running {
        /// The worker.
        worker: usize,
    },
}

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    /// How much time was given.
    pub(super) within: Duration,
    /// When it is over (monotonic).
    pub(super) deadline: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Starting,
    Running,
    Ended,
}

struct Inner {
    life: Life,
    tasks: BTreeMap<Tenure, TaskPhase>,
    /// What their restores took.
    restored: BTreeMap<Tenure, Restored>,
    /// When the ownership of tasks that are wanted back, or lost, ends in any case.
    ending: BTreeMap<Tenure, Duration>,
    /// Revocations that wait until a task is gone.
    held: BTreeMap<Tenure, Token>,
    failure: Option<RunError>,
    /// Workers that have nothing to do.
    idle: Vec<bool>,
}

/// The status, as the parts of an instance write it, and the two signals that all of them watch: stop, ended.
pub(super) struct Board {
    inner: Mutex<Inner>,
    /// Counts the changes.
    pub(super) changes: Signal<u64>,
    /// The request to stop; the nearest deadline counts.
    pub(super) stop: Signal<Option<Stop>>,
    /// Whether all is over.
    pub(super) ended: Signal<bool>,
    /// The group is being left, and whoever still works is not waited for.
    given_up: AtomicBool,
    /// The pulse of each worker.
    pub(super) pulses: Vec<Pulse>,
    /// How to have the tasks of each worker rest.
    pub(super) rests: Vec<Rests>,
    /// The first task whose partition was released while somebody still had it.
    #[cfg(test)]
    released_early: Mutex<Option<TaskId>>,
}

impl Board {
    pub(super) fn new(workers: usize) -> Self {
        let inner = Inner {
            life: Life::Starting,
            tasks: BTreeMap::new(),
            restored: BTreeMap::new(),
            ending: BTreeMap::new(),
            held: BTreeMap::new(),
            failure: None,
            idle: vec![false; workers],
        };
        Self {
            inner: Mutex::new(inner),
            changes: Signal::default(),
            stop: Signal::default(),
            ended: Signal::default(),
            given_up: AtomicBool::new(false),
            pulses: (0..workers).map(|_| Pulse::default()).collect(),
            rests: (0..workers).map(|_| Rests::default()).collect(),
            #[cfg(test)]
            released_early: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Each use leaves it whole; and a status must be had after a panic, above all.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.lock());
        self.changes.change(|version| *version += 1);
    }

    pub(super) fn status(&self) -> Status {
        let inner = self.lock();
        let restoring = || {
            inner
                .tasks
                .values()
                .any(|phase| matches!(phase, TaskPhase::Restoring { .. }))
        };
        let state = match inner.life {
            Life::Ended if inner.failure.is_some() => RunState::Failed,
            Life::Ended => RunState::Stopped,
            _ if self.is_stopping() => RunState::Stopping,
            Life::Starting => RunState::Starting,
            Life::Running if restoring() => RunState::Restoring,
            Life::Running => RunState::Running,
        };
        let task = |(tenure, phase): (&Tenure, &TaskPhase)| TaskStatus {
            group: tenure.task.group,
            partition: tenure.task.partition,
            phase: *phase,
            restored: inner.restored.get(tenure).copied(),
        };
        Status {
            state,
            tasks: inner.tasks.iter().map(task).collect(),
            failure: inner.failure.clone(),
        }
    }

    pub(super) fn running(&self) {
        self.change(|inner| inner.life = Life::Running);
    }

    pub(super) fn task(&self, tenure: Tenure, phase: TaskPhase) {
        self.change(|inner| {
            inner.tasks.insert(tenure, phase);
        });
    }

    pub(super) fn restored(&self, tenure: Tenure, restored: Restored) {
        self.change(|inner| {
            inner.restored.insert(tenure, restored);
        });
    }

    pub(super) fn gone(&self, tenure: Tenure) {
        let mut held = None;
        self.change(|inner| {
            inner.tasks.remove(&tenure);
            inner.restored.remove(&tenure);
            inner.ending.remove(&tenure);
            held = inner.held.remove(&tenure);
        });
        // Not under the lock: it tells the cluster.
        drop(held);
    }

    /// Releases a revocation when the task is gone, whoever has it now.
    pub(super) fn hold(&self, tenure: Tenure, token: Token) {
        let mut inner = self.lock();
        if inner.tasks.contains_key(&tenure) {
            inner.held.insert(tenure, token);
        }
    }

    /// The partitions of these tasks are released, and so they must be gone.
    #[cfg(test)]
    pub(super) fn released(&self, tenures: &[Tenure]) {
        let inner = self.lock();
        let early = tenures.iter().find(|tenure| inner.tasks.contains_key(tenure));
        if let Some(tenure) = early.filter(|_| !self.is_given_up()) {
            self.released_early.lock().unwrap().get_or_insert(tenure.task);
        }
    }

    /// A task whose partition was released while somebody still had it.
    #[cfg(test)]
    pub(super) fn released_early(&self) -> Option<TaskId> {
        *self.released_early.lock().unwrap()
    }

    /// The ownership of a task ends by then.
    pub(super) fn ends(&self, tenure: Tenure, by: Duration) {
        let mut inner = self.lock();
        if inner.tasks.contains_key(&tenure) {
            inner.ending.insert(tenure, by);
        }
    }

    /// Whether somebody else may have a task by now: nothing of it may be sent or committed any more.
    pub(super) fn is_over(&self, tenure: Tenure, now: Duration) -> bool {
        self.is_given_up() || self.lock().ending.get(&tenure).is_some_and(|by| *by <= now)
    }

    /// From here on nobody sends or commits anything.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
        // Wakes those who wait for the deadline of a stop.
        self.stop.change(|_| ());
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    /// Whether no worker besides these has a task that may have something to commit.
    pub(super) fn has_only(&self, workers: &[usize]) -> bool {
        let anothers =
            |phase: &TaskPhase| matches!(phase, TaskPhase::Running { worker } if !workers.contains(worker));
        !self.lock().tasks.values().any(anothers)
    }

    pub(super) fn set_idle(&self, worker: usize, idle: bool) {
        self.lock().idle[worker] = idle;
    }

    pub(super) fn all_idle(&self) -> bool {
        self.lock().idle.iter().all(|idle| *idle)
    }

    /// How many tasks there are, those that are being restored included.
    pub(super) fn tasks(&self) -> usize {
        self.lock().tasks.len()
    }

    /// What there still is, for a person.
    pub(super) fn unfinished(&self) -> String {
        let inner = self.lock();
        let mut tasks: Vec<String> = inner.tasks.keys().map(|tenure| tenure.task.to_string()).collect();
        tasks.dedup();
        match &tasks[..] {
            [] => "its parts were still ending".into(),
            [task] => format!("task {task} was still being committed and closed (does the cluster answer?)"),
            [first, rest @ ..] => format!(
                "task {first} and {} more were still being committed and closed (does the cluster answer?)",
                rest.len()
            ),
        }
    }

    /// Records a failure, if it is the first.
    pub(super) fn set_failure(&self, error: RunError) {
        self.change(|inner| {
            inner.failure.get_or_insert(error);
        });
    }

    /// Asks all parts to stop. The nearest deadline counts.
    pub(super) fn ask_stop(&self, stop: Stop) {
        self.stop.change(|asked| {
            if asked.is_none_or(|asked| stop.deadline < asked.deadline) {
                *asked = Some(stop);
            }
        });
        // No record is begun any more, even before the order has gone its way.
        self.rests.iter().for_each(Rests::ask_all);
        self.changes.change(|version| *version += 1);
    }

    /// All is over.
    pub(super) fn end(&self) {
        self.change(|inner| {
            inner.life = Life::Ended;
            inner.tasks.clear();
            inner.restored.clear();
            inner.ending.clear();
        });
        self.ended.change(|ended| *ended = true);
    }

    /// The tasks of a worker.
    pub(super) fn tasks_of(&self, worker: usize) -> Vec<TaskId> {
        let inner = self.lock();
        let its = inner
            .tasks
            .iter()
            .filter(|(_, phase)| **phase == TaskPhase::Running { worker });
        its.map(|(tenure, _)| tenure.task).collect()
    }

    /// Whether a stop was asked for.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.get().is_some()
    }

    /// How it ended.
    pub(super) fn outcome(&self) -> Result<(), RunError> {
        self.lock().failure.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_and_the_nearest_deadline_count() {
        let board = Board::new(1);
        assert_eq!(board.status().state, RunState::Starting);
        board.running();
        let stop = |seconds| {
            let within = Duration::from_secs(seconds);
            Stop {
                within,
                deadline: within,
            }
        };
        board.ask_stop(stop(5));
        board.ask_stop(stop(9));
        assert_eq!(board.stop.get(), Some(stop(5)));
        board.set_failure(RunError::Stopped);
        board.set_failure(RunError::Thread("second".into()));
        assert_eq!(board.status().state, RunState::Stopping);
        board.end();
        assert_eq!(board.status().state, RunState::Failed);
        assert_eq!(board.outcome(), Err(RunError::Stopped));
    }
}
