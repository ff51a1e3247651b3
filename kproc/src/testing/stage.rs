//! Where the application plays: the executor with its virtual time, and what handlers may need beside it.
//!
//! Normally nothing here touches the real world. A handler that waits for something outside (a socket, a blocking
//! task, `tokio::time`) is waited for in real time, and virtual time stands still meanwhile.

use std::time::Duration;

use tokio::runtime::Runtime;

use super::exec::Executor;
use crate::clock::Clock;

/// See the module.
pub(super) struct Stage {
    pub(super) executor: Executor,
    outside: Outside,
    /// How long something outside is waited for.
    patience: Duration,
}

/// A handler still waits for something outside.
#[derive(Debug)]
pub(super) struct StillWaiting(pub(super) Duration);

impl Stage {
    pub(super) fn new(executor: Executor, patience: Duration) -> std::io::Result<Self> {
        Ok(Self {
            executor,
            outside: Outside::new()?,
            patience,
        })
    }

    /// Runs everything that happens in the next `by` of virtual time. `waiting` says whether some handler waits.
    pub(super) fn run(&mut self, by: Duration, waiting: impl Fn() -> bool) -> Result<(), StillWaiting> {
        let until = self.executor.clock().now() + by;
        let _context = self.outside.runtime.as_ref().map(Runtime::enter);
        loop {
            self.executor.settle();
            if waiting() {
                let (executor, patience) = (&self.executor, self.patience);
                if !self.outside.beside(|| executor.wait_for_outside(patience)) {
                    return Err(StillWaiting(patience));
                }
            } else if !self.executor.tick(until) {
                // Sets the clock; there is nothing left to be done by then.
                self.executor
                    .advance(until.saturating_sub(self.executor.clock().now()));
                return Ok(());
            }
        }
    }

    /// Runs until `future` has a result, however much virtual time that takes.
    pub(super) fn run_until<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        let _context = self.outside.runtime.as_ref().map(Runtime::enter);
        self.executor.run_until(future)
    }
}

/// The tokio runtime that handlers find themselves in, as they do in production. It does nothing while nobody waits
/// for it.
struct Outside {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Outside {
    fn new() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// Waits, and lets the runtime run meanwhile: on another thread, for the test may be running in a runtime of
    /// its own, where no other can run.
    fn beside(&self, wait: impl FnOnce() -> bool) -> bool {
        let Some(runtime) = &self.runtime else {
            return wait();
        };
        let (over, is_over) = tokio::sync::oneshot::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(is_over));
            let woken = wait();
            drop(over);
            woken
        })
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A plain drop waits for blocking tasks, and is not allowed inside a test's own runtime.
            runtime.shutdown_background();
        }
    }
}
