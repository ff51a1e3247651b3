//! A failure is never silent: whatever fails ends up here, in the log, in the status, and in `wait()`.

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;

use super::{
    error::RunError,
    status::{Board, Stop},
};
use crate::{clock::Clock, error::panic_message};

/// What each part of an instance has at hand to say that something failed.
#[derive(Clone)]
pub(super) struct Supervisor {
    pub(super) board: Arc<Board>,
    pub(super) clock: Arc<dyn Clock>,
    /// How long a stop after a failure may take.
    pub(super) stop_deadline: Duration,
}

impl Supervisor {
    /// Records the failure and stops the instance. What can be committed still is.
    #[cold]
    pub(super) fn fail(&self, error: RunError) {
        tracing::error!(%error, "the application stops");
        self.board.set_failure(error);
        self.stop(self.stop_deadline);
    }

    /// Stops the instance within this time.
    pub(super) fn stop(&self, within: Duration) {
        self.board.ask_stop(Stop {
            within,
            deadline: self.clock.now().saturating_add(within),
        });
    }

    /// Something did not end in time: a failure if the instance is to stop. Otherwise it was only to give a
    /// partition away, and whoever gets it does the work again.
    pub(super) fn late(&self, what: &str) {
        let stop = self.board.stop.get();
        tracing::warn!(
            what,
            "not everything ended in time; it is done again by whoever comes next"
        );
        if let Some(stop) = stop {
            self.board.set_failure(RunError::Deadline {
                deadline: stop.within,
                what: what.to_owned(),
            });
        }
    }

    /// Runs a part of the instance. If it fails or panics, the instance stops.
    pub(super) async fn watch(&self, part: &str, future: impl Future<Output = Result<(), RunError>>) {
        let error = match AssertUnwindSafe(future).catch_unwind().await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => RunError::Panic {
                part: part.to_owned(),
                message: panic_message(&*panic).to_owned(),
            },
        };
        self.fail(error);
    }

    /// Resolves once a stop was asked for and its deadline has passed: the nearest, if it is asked for again meanwhile.
    pub(super) async fn deadline(&self) {
        let mut known = None;
        loop {
            tokio::select! { biased;
                nearer = self.board.stop.find(|stop| (*stop != known).then_some(*stop)) => known = nearer,
                () = sleep_until(&*self.clock, known.map(|stop| stop.deadline)) => return,
            }
        }
    }

    /// Resolves once a stop was asked for and its deadline has passed, or all is given up.
    pub(super) fn overdue(&self) -> impl Future<Output = ()> + 'static {
        let supervisor = self.clone();
        async move {
            let board = &supervisor.board;
            tokio::select! { biased;
                () = board.stop.find(|_| board.is_given_up().then_some(())) => {}
                () = supervisor.deadline() => {}
            }
        }
    }
}

/// Sleeps until then; for ever, if there is no then.
pub(super) async fn sleep_until(clock: &dyn Clock, due: Option<Duration>) {
    match due {
        Some(due) => clock.sleep_until(due).await,
        None => std::future::pending().await,
    }
}
