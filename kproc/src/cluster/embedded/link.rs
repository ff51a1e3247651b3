//! The way between an instance and the cluster. A request leaves when it is called and outlives its future, as on
//! a client thread; a severed link loses what is on its way, by chance.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::sync::oneshot;

use super::driver::{Driver, Fault, Verb};
use crate::cluster::{ClusterError, ClusterErrorKind, Result};

/// One client object's line to the cluster. Messages of one line keep their order; those of different lines
/// of an instance do not.
#[derive(Clone)]
pub(super) struct Link {
    driver: Arc<dyn Driver>,
    /// Of the whole instance.
    state: Arc<LinkState>,
    line: Arc<Line>,
}

/// What all lines of an instance have in common.
#[derive(Debug, Default)]
pub(super) struct LinkState {
    /// Nothing comes through.
    pub(super) severed: AtomicBool,
    /// The process stands still: nothing is heard of it, though everything comes through.
    pub(super) frozen: AtomicBool,
    /// A test has taken the gate away that keeps members from committing what they have lost.
    pub(super) ungated: AtomicBool,
}

/// When the last message arrives, there and back.
#[derive(Default)]
struct Line {
    there: Mutex<Duration>,
    back: Mutex<Duration>,
}

impl Link {
    pub(super) fn new(driver: Arc<dyn Driver>, state: Arc<LinkState>) -> Self {
        Self {
            driver,
            state,
            line: Arc::default(),
        }
    }

    pub(super) fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    pub(super) fn is_severed(&self) -> bool {
        self.state.severed.load(Ordering::SeqCst)
    }

    /// Whether nothing is heard of the instance.
    pub(super) fn is_silent(&self) -> bool {
        self.is_severed() || self.state.frozen.load(Ordering::SeqCst)
    }

    /// Whether members commit without a look at what they have.
    pub(super) fn is_ungated(&self) -> bool {
        self.state.ungated.load(Ordering::SeqCst)
    }

    /// Sends a request. It is carried out even if the answer is not waited for.
    pub(super) fn call<T: Send + 'static>(
        &self,
        verb: Verb,
        request: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Answer<T> {
        let fault = self.driver.fault(verb);
        self.send(fault, move || match fault {
            Some(Fault::Refuse(kind)) => Err(refused(verb, kind)),
            _ => request(),
        })
    }

    /// Refuses what is no request, if its time has come to go wrong.
    pub(super) fn refuse(&self, verb: Verb) -> Result<()> {
        match self.driver.fault(verb) {
            Some(Fault::Refuse(kind)) => Err(refused(verb, kind)),
            _ => Ok(()),
        }
    }

    /// Sends a message that has no answer. Nothing but a severed link keeps it from arriving.
    pub(super) fn tell(&self, message: impl FnOnce() + Send + 'static) {
        drop(self.send(None, move || {
            message();
            Ok(())
        }));
    }

    fn send<T: Send + 'static>(
        &self,
        fault: Option<Fault>,
        request: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        let answer_is_lost = fault == Some(Fault::LoseAnswer);
        if self.is_severed() || fault == Some(Fault::LoseRequest) {
            self.never(reply);
        } else if let Some(due) = self.arrival(&self.line.there) {
            let link = self.clone();
            let arrive = move || {
                if link.is_severed() && link.driver.random() & 1 == 0 {
                    return link.never(reply);
                }
                let outcome = request();
                if answer_is_lost {
                    return link.never(reply);
                }
                link.answer(reply, outcome);
            };
            self.driver.run_at(due, Box::new(arrive));
        } else {
            let outcome = request();
            if !answer_is_lost {
                return Answer::Here(Some(outcome));
            }
            self.never(reply);
        }
        Answer::Coming(answer)
    }

    /// Takes an answer back to the instance.
    fn answer<T: Send + 'static>(&self, reply: oneshot::Sender<Result<T>>, outcome: Result<T>) {
        let link = self.clone();
        let arrive = move || {
            if link.is_severed() {
                link.never(reply);
            } else {
                drop(reply.send(outcome));
            }
        };
        match self.delivery() {
            Some(due) => self.driver.run_at(due, Box::new(arrive)),
            None => arrive(),
        }
    }

    /// When a message that is delivered now arrives; `None`: at once.
    pub(super) fn delivery(&self) -> Option<Duration> {
        self.arrival(&self.line.back)
    }

    /// Suspends for as long as a message takes, where there is a way at all.
    pub(super) async fn pause(&self) {
        if let Some(latency) = self.driver.latency() {
            self.driver.sleep_until(self.driver.now() + latency).await;
        }
    }

    /// When a message that leaves now arrives: after all that left before.
    fn arrival(&self, last: &Mutex<Duration>) -> Option<Duration> {
        let due = self.driver.now() + self.driver.latency()?;
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = due.max(*last);
        Some(*last)
    }

    /// There will be no answer. The caller finds out by time.
    fn never<T: Send + 'static>(&self, reply: oneshot::Sender<Result<T>>) {
        let due = self.driver.now() + self.driver.request_timeout();
        self.driver.run_at(due, Box::new(move || drop(reply)));
    }
}

/// The answer to a request. Dropping it does not undo the request.
pub(super) enum Answer<T> {
    Here(Option<Result<T>>),
    Coming(oneshot::Receiver<Result<T>>),
}

impl<T> Unpin for Answer<T> {}

impl<T> Future for Answer<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        match &mut *self {
            Self::Here(outcome) => Poll::Ready(outcome.take().unwrap_or_else(|| Err(no_answer()))),
            Self::Coming(answer) => Pin::new(answer)
                .poll(cx)
                .map(|outcome| outcome.unwrap_or_else(|_| Err(no_answer()))),
        }
    }
}

#[cold]
fn refused(verb: Verb, kind: ClusterErrorKind) -> ClusterError {
    ClusterError::new(kind, format_args!("the cluster refused the request ({verb:?})"))
}

#[cold]
fn no_answer() -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::Unknown,
        "the cluster did not answer in time; whether it carried out the request is not known",
    )
}
