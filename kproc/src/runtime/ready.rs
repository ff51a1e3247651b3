//! Which tasks of a worker have something to look at: one place to wait on, whatever the number of queues.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Wake, Waker},
};

use super::slot::Tenure;

/// A set of tasks. Queues add to it from whichever thread notices new records.
#[derive(Default)]
pub(super) struct Ready {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tasks: BTreeSet<Tenure>,
    waiting: Option<Waker>,
}

impl Ready {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can fail under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This task is to be looked at.
    pub(super) fn add(&self, task: Tenure) {
        let waiting = {
            let mut state = self.lock();
            state.tasks.insert(task);
            state.waiting.take()
        };
        // Outside the lock: a waker may run anything.
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// The tasks to be looked at, once there are any.
    pub(super) async fn wait(&self) -> BTreeSet<Tenure> {
        std::future::poll_fn(|cx| {
            let mut state = self.lock();
            if state.tasks.is_empty() {
                state.waiting = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(std::mem::take(&mut state.tasks))
        })
        .await
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().tasks.is_empty()
    }

    /// A waker that adds this task.
    pub(super) fn waker(self: &Arc<Self>, task: Tenure) -> Waker {
        Waker::from(Arc::new(Bell {
            ready: self.clone(),
            task,
        }))
    }
}

struct Bell {
    ready: Arc<Ready>,
    task: Tenure,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ready.add(self.task);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.add(self.task);
    }
}
