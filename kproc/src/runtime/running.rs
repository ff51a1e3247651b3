//! The handle on a running application.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::Duration,
};

use tokio::sync::{
    mpsc::{UnboundedSender, unbounded_channel},
    oneshot,
};

use super::{drain::Request, error::RunError, lend::Borrower, status::Status, supervisor::Supervisor};

/// A running application.
///
/// ```no_run
/// # fn start() -> Result<(), kproc::RunError> {
/// # let app = kproc::App::new("shop");
/// let running = app.start()?;
/// println!("{:?}", running.status().state);
/// running.shutdown(std::time::Duration::from_secs(10));
/// running.wait_blocking()
/// # }
/// ```
///
/// The handle can be cloned and used from anywhere, also from inside handlers: its calls only signal, and its
/// futures may be awaited on any executor. Dropping it changes nothing; the application runs on.
#[derive(Clone)]
pub struct Running {
    pub(super) supervisor: Supervisor,
    pub(super) requests: UnboundedSender<Request>,
}

impl Running {
    /// A task whose partition was released while somebody still had it.
    #[cfg(test)]
    pub(super) fn released_early(&self) -> Option<crate::TaskId> {
        self.supervisor.board.released_early()
    }

    /// What it is doing.
    pub fn status(&self) -> Status {
        self.supervisor.board.status()
    }

    /// Resolves when the status has changed since the call.
    pub fn changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let board = self.supervisor.board.clone();
        let known = board.changes.get();
        async move {
            board
                .changes
                .find(|version| (*version != known).then_some(()))
                .await;
        }
    }

    /// Asks it to stop: handlers finish the record they are at, everything is committed, the group is left. What
    /// has not ended within `deadline` is abandoned. Returns at once; see [`wait`](Self::wait). If it was asked
    /// before, the nearer deadline counts.
    pub fn shutdown(&self, deadline: Duration) {
        self.supervisor.stop(deadline);
    }

    /// Resolves when it has stopped, with what it stopped for if that was a failure.
    pub fn wait(&self) -> impl Future<Output = Result<(), RunError>> + Send + use<> {
        let board = self.supervisor.board.clone();
        async move {
            board.ended.find(|ended| ended.then_some(())).await;
            board.outcome()
        }
    }

    /// As [`wait`](Self::wait), for a thread that may be blocked.
    pub fn wait_blocking(&self) -> Result<(), RunError> {
        block_on(self.wait())
    }

    /// Resolves when all input that is there has been processed and committed: every partition of every input,
    /// topics between processors included, and so are advances of stream time and the timers that were due by it. Fails if
    /// the application ends before.
    pub fn drained(&self) -> impl Future<Output = Result<(), RunError>> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Drain(reply), async move {
            answer.await.unwrap_or(Err(RunError::Stopped))
        })
    }

    /// Fires every wall-clock timer of every task once, whether due or not, and resolves when all have run.
    /// What they did may still have to be processed and committed: see [`drained`](Self::drained).
    pub fn fire_wall_timers(&self) -> impl Future<Output = Result<(), RunError>> + Send + use<> {
        let (done, mut all_done) = unbounded_channel();
        self.ask(Request::FireTimers(done), async move {
            all_done.recv().await;
            Ok(())
        })
    }

    /// Whether no task is at anything. (One whose handler waits is.)
    pub(crate) fn is_idle(&self) -> bool {
        self.supervisor.board.all_idle()
    }

    /// Asks for a commit of all that was done. Returns at once.
    pub(crate) fn commit(&self) {
        // An instance that has ended has committed what it could.
        let _ = self.requests.send(Request::Commit);
    }

    /// Lends every task to a test, as soon as it rests. Returns at once.
    pub(crate) fn lend(&self, to: Borrower) {
        // An instance that has ended has no tasks.
        let _ = self.requests.send(Request::Lend(to));
    }

    /// Asks the owner, and waits for the answer or the end.
    fn ask<A: Future<Output = Result<(), RunError>> + Send>(
        &self,
        request: Request,
        answer: A,
    ) -> impl Future<Output = Result<(), RunError>> + Send + use<A> {
        let sent = self.requests.send(request).is_ok();
        let end = self.wait();
        async move {
            let ended = async {
                end.await?;
                Err(RunError::Stopped)
            };
            if !sent {
                return ended.await;
            }
            tokio::select! { biased;
                result = ended => result,
                result = answer => result,
            }
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// Wakes a thread that waits in [`block_on`].
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which sleeps meanwhile.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        std::thread::park();
    }
}
