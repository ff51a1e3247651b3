//! The tasks of a worker that are away from their seats, doing something.
//!
//! Whoever waits for a verb of the cluster waits [beside](Away::beside) them, so that handlers that wait go on.

use std::{future::Future, pin::pin, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};

use super::{
    seat::Rested,
    supervisor::{Supervisor, sleep_until},
};
use crate::clock::BoxFuture;

/// See the module.
pub(super) struct Away {
    running: FuturesUnordered<BoxFuture<'static, Rested>>,
    /// Came to rest while something else was waited for.
    rested: Vec<Rested>,
    supervisor: Supervisor,
}

impl Away {
    pub(super) fn new(supervisor: Supervisor) -> Self {
        Self {
            running: FuturesUnordered::new(),
            rested: Vec::new(),
            supervisor,
        }
    }

    /// Sends a task away.
    pub(super) fn send(&mut self, activation: BoxFuture<'static, Rested>) {
        self.running.push(activation);
    }

    /// Whether somebody has come to rest whom nobody has looked after.
    pub(super) fn has_rested(&self) -> bool {
        !self.rested.is_empty()
    }

    /// Whether nobody is away.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.rested.is_empty()
    }

    /// Those that have come to rest, and nobody has looked after.
    pub(super) fn take_rested(&mut self) -> Vec<Rested> {
        std::mem::take(&mut self.rested)
    }

    /// Resolves when there is something for [`take_rested`](Self::take_rested). Cancel-safe.
    pub(super) async fn rest(&mut self) {
        if self.rested.is_empty() {
            match self.running.next().await {
                Some(task) => self.rested.push(task),
                None => std::future::pending().await,
            }
        }
    }

    /// Waits for a verb while nobody else goes on. `None`: as in [`beside`](Self::beside).
    pub(super) async fn alone<T>(
        &self,
        verb: impl Future<Output = T>,
        deadline: Option<Duration>,
    ) -> Option<T> {
        tokio::select! { biased;
            () = self.supervisor.overdue() => None,
            result = verb => Some(result),
            () = sleep_until(&*self.supervisor.clock, deadline) => None,
        }
    }

    /// Waits for a verb while the tasks that are away go on. `None`: the deadline, or that of a stop, came first.
    /// The verb is dropped then, its outcome unknown.
    pub(super) async fn beside<T>(
        &mut self,
        verb: impl Future<Output = T>,
        deadline: Option<Duration>,
    ) -> Option<T> {
        let mut verb = pin!(verb);
        let mut overdue = pin!(self.supervisor.overdue());
        let mut deadline = pin!(sleep_until(&*self.supervisor.clock, deadline));
        loop {
            tokio::select! { biased;
                // Before the verb: a handler may have blocked the thread until all was given up.
                () = &mut overdue => return None,
                result = &mut verb => return Some(result),
                () = &mut deadline => return None,
                Some(task) = self.running.next(), if !self.running.is_empty() => self.rested.push(task),
            }
        }
    }
}
