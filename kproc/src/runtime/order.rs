//! What the parts of an instance tell each other.
//!
//! Orders about a task follow it: owner, restorer, worker. Each hand keeps their order, so an order never
//! arrives before its task. An order about a task that has been handed back goes after it, the same way.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    lend::Borrower,
    slot::{Slot, Tenure, Token},
};
use crate::engine::Rest;

/// To the restorer.
pub(super) enum RestorerOrder {
    /// Bring it to its last commit, then hand it to a worker. Not before `not_before`.
    Open { slot: Box<Slot>, not_before: Duration },
    /// It is wanted back.
    Revoke(Tenure, Token),
    /// It is gone.
    Lost(Tenure),
    /// Put everything away by then.
    Stop(Duration),
}

/// To a worker.
pub(super) enum WorkerOrder {
    /// Process it.
    Take(Box<Slot>),
    /// It is wanted back: finish, commit, close.
    Revoke(Tenure, Token),
    /// It is gone: close, commit nothing.
    Lost(Tenure),
    /// Commit what has been done.
    Commit,
    /// Fire every wall-clock timer once; the channel closes when all have fired.
    FireTimers(Done),
    /// Lend every task as soon as it rests.
    Lend(Borrower),
    /// Finish, commit, close everything by then, and end.
    Stop(Duration),
}

impl WorkerOrder {
    /// Whether others wait for it, or time runs out.
    pub(super) fn is_urgent(&self) -> bool {
        matches!(self, Self::Revoke(..) | Self::Lost(_) | Self::Stop(_))
    }
}

/// Held by who has something to do; the other end of the channel closes when nobody holds it any more.
pub(super) type Done = UnboundedSender<Infallible>;

/// The way to a worker. An order makes its tasks rest after the record they are at.
#[derive(Clone)]
pub(super) struct WorkerHandle {
    orders: UnboundedSender<WorkerOrder>,
    rests: Rests,
}

impl WorkerHandle {
    pub(super) fn new(rests: Rests) -> (Self, UnboundedReceiver<WorkerOrder>) {
        let (orders, receiver) = unbounded_channel();
        (Self { orders, rests }, receiver)
    }

    /// Sends an order. A worker that has ended gets no orders; what they hold is dropped.
    pub(super) fn send(&self, order: WorkerOrder) {
        drop(self.orders.send(order));
        // After sending: a worker that clears the request looks for orders next.
        self.rests.ask_all();
    }
}

/// The requests to rest of a worker's tasks.
#[derive(Clone, Default)]
pub(super) struct Rests {
    tasks: Arc<Mutex<BTreeMap<Tenure, Rest>>>,
}

impl Rests {
    pub(super) fn add(&self, task: Tenure) -> Rest {
        let rest = Rest::default();
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(task, rest.clone());
        rest
    }

    pub(super) fn remove(&self, task: Tenure) {
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&task);
    }

    pub(super) fn ask_all(&self) {
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .for_each(Rest::ask);
    }
}
