//! What a worker shows of itself to the [`watchdog`](super::watchdog): since when its thread has not come back,
//! which task is on it, and how far each of its tasks is.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Poll,
    time::Duration,
};

use super::slot::Tenure;
use crate::{
    clock::Clock,
    engine::{Progress, Seen},
};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Nanoseconds of the clock, and 1 more, for 0 means that it is not busy.
    busy_since: AtomicU64,
    /// The number of the tenure whose task has the thread; 0: none.
    inside: AtomicU64,
    tasks: Mutex<BTreeMap<Tenure, Progress>>,
}

impl Pulse {
    /// Runs the worker's future, and takes its pulse. Once all is `given_up`, it is dropped instead.
    pub(super) async fn of<T>(
        &self,
        clock: &dyn Clock,
        given_up: impl Fn() -> bool,
        worker: impl Future<Output = T>,
    ) -> Option<T> {
        let mut worker = pin!(worker);
        poll_fn(|cx| {
            if given_up() {
                return Poll::Ready(None);
            }
            self.busy_since.store(clock.now().as_nanos() as u64 + 1, Relaxed);
            let result = worker.as_mut().poll(cx);
            self.busy_since.store(0, Relaxed);
            result.map(Some)
        })
        .await
    }

    /// Runs a task's activation; tells when it has the thread.
    pub(super) async fn inside<T>(&self, tenure: Tenure, activation: impl Future<Output = T>) -> T {
        let mut activation = pin!(activation);
        poll_fn(|cx| {
            self.inside.store(tenure.number, Relaxed);
            let result = activation.as_mut().poll(cx);
            self.inside.store(0, Relaxed);
            result
        })
        .await
    }

    /// For how long its thread has been busy.
    pub(super) fn busy_for(&self, now: Duration) -> Duration {
        match self.busy_since.load(Relaxed) {
            0 => Duration::ZERO,
            since => now.saturating_sub(Duration::from_nanos(since - 1)),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<Tenure, Progress>> {
        // Nothing can fail under the lock.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, tenure: Tenure, progress: Progress) {
        self.tasks().insert(tenure, progress);
    }

    pub(super) fn remove(&self, tenure: Tenure) {
        self.tasks().remove(&tenure);
    }

    /// What each task is at.
    pub(super) fn seen(&self) -> Vec<(Tenure, Option<Seen>)> {
        let tasks = self.tasks();
        tasks
            .iter()
            .map(|(tenure, progress)| (*tenure, progress.seen()))
            .collect()
    }

    /// The task that has the thread.
    pub(super) fn on_thread(&self) -> Option<Tenure> {
        let number = self.inside.load(Relaxed);
        self.tasks()
            .keys()
            .copied()
            .find(|tenure| tenure.number == number)
    }
}
