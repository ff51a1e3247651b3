//! A thread for calls that block, in order: those of one client object never wait for those of another.

use std::{
    pin::Pin,
    sync::mpsc::{Sender, channel},
    task::{Context, Poll},
    thread,
};

use tokio::sync::oneshot::{self, Receiver};

use crate::cluster::{ClusterError, ClusterErrorKind, Result};

type Job = Box<dyn FnOnce() + Send>;

/// The thread; it ends after the last job once this is dropped.
pub(super) struct ClientThread(Sender<Job>);

impl ClientThread {
    /// Starts the thread.
    pub(super) fn start(name: &str) -> Result<Self> {
        let (jobs, receiver) = channel::<Job>();
        let run = move || {
            while let Ok(job) = receiver.recv() {
                job();
            }
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|error| no_thread(&error))?;
        Ok(Self(jobs))
    }

    /// Has something done that has no answer.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        // The thread is there as long as we are.
        let _ = self.0.send(Box::new(job));
    }

    /// Has something done, even if the answer is not waited for.
    pub(super) fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        self.run(move || {
            let _ = reply.send(job());
        });
        Answer(answer)
    }
}

/// The answer to a call. Dropping it does not undo the call.
pub(super) struct Answer<T>(Receiver<Result<T>>);

impl<T> Future for Answer<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.0).poll(cx).map(|answer| {
            answer.unwrap_or_else(|_| {
                let message =
                    "the thread of the Kafka client has died; the outcome of the request is not known";
                Err(ClusterError::new(ClusterErrorKind::Unknown, message))
            })
        })
    }
}

#[cold]
pub(super) fn no_thread(error: &std::io::Error) -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::Fatal,
        format_args!("cannot start a thread for the Kafka client: {error}"),
    )
}
