//! The thread that seeks in partitions, and when it may change the assignment.

use std::sync::Mutex;

use super::{super::client_thread::ClientThread, lock};
use crate::cluster::Result;

/// Shared by the thread that polls a consumer and the queues of its partitions.
pub(super) struct Seeks {
    thread: ClientThread,
    /// A rebalance is to be answered.
    rebalancing: Mutex<bool>,
}

impl Seeks {
    /// Starts the thread.
    pub(super) fn start() -> Result<Self> {
        Ok(Self {
            thread: ClientThread::start("kproc-kafka-seek")?,
            rebalancing: Mutex::default(),
        })
    }

    /// Has a seek done, after those that came before.
    pub(super) fn run(&self, seek: impl FnOnce() + Send + 'static) {
        self.thread.run(seek);
    }

    /// Answers a rebalance, and has nobody else change the assignment until that is done: librdkafka takes whatever does for the
    /// answer, and the brokers would give partitions away that are still in use.
    pub(super) fn rebalance<T>(&self, answer: impl FnOnce() -> T) -> T {
        *lock(&self.rebalancing) = true;
        let answered = answer();
        *lock(&self.rebalancing) = false;
        answered
    }

    /// Changes the assignment; `None`: a rebalance is under way.
    pub(super) fn reassign<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        let rebalancing = lock(&self.rebalancing);
        (!*rebalancing).then(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_else_changes_while_a_rebalance_is_answered() {
        let seeks = Seeks::start().unwrap();
        assert_eq!(seeks.reassign(|| 1), Some(1));
        assert_eq!(seeks.rebalance(|| seeks.reassign(|| 2)), None);
        assert_eq!(seeks.reassign(|| 3), Some(3));
    }
}
