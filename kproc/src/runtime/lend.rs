//! Lending tasks: a test takes a resting task out of its worker, looks into it, and gives it back.
//!
//! For the worker this is one of the things that a task is away for, like running: it neither commits nor feeds
//! the task meanwhile.

use tokio::sync::{mpsc::UnboundedSender, oneshot};

use crate::{engine::Task, record::Partition};

/// Where lent tasks go.
pub(crate) type Borrower = UnboundedSender<Lent>;

/// A task, lent.
pub(crate) struct Lent {
    /// Its partition.
    pub(crate) partition: Partition,
    /// The task, at rest.
    pub(crate) task: Task,
    /// The way back.
    pub(crate) home: oneshot::Sender<Task>,
}

/// Lends a task, and resolves when it is back.
pub(super) async fn lend(partition: Partition, task: Task, borrower: &Borrower) -> Task {
    let (home, back) = oneshot::channel();
    if let Err(refused) = borrower.send(Lent {
        partition,
        task,
        home,
    }) {
        return refused.0.task;
    }
    match back.await {
        Ok(task) => task,
        // The task was dropped. Whoever does that drops the instance, too.
        Err(_) => std::future::pending().await,
    }
}
