//! Runs an application on a cluster, at least once or exactly once: owner, restorer, workers, and what they do together.
//!
//! Knows a cluster only through the traits of [`cluster`](crate::cluster), and time only through its
//! [`Clock`]. Everything is a future; whether each part has a thread or all share a seeded executor is the
//! [`Spawner`]'s business.
//!
//! - [`owner`]: the group's member. Checks the topics ([`check`]), joins, makes tasks of partitions.
//! - [`restorer`]: brings tasks to their last commit ([`restore`]), apart from the workers, and hands them over.
//! - [`worker`]: processes tasks, and commits them ([`commit`]) or takes them back ([`fall_back`]). It writes
//!   nothing while it is not known that they are ours ([`standing`]).
//! - [`watch`]: notices topics that are not what they were.
//! - [`watchdog`]: notices handlers that do not come back.
//! - [`supervisor`] and [`status`]: what goes wrong stops the instance and is told.
//!
//! What may be here: when to read, write, commit, restore, stop. What may not: records (the engine's), bytes on
//! disk (the store's), protocols (the cluster's).
//!
//! # Rules
//!
//! - A `select!` is `biased`, maps are ordered, time and chance come from the clock, and nobody is woken in random
//!   order (as tokio's `watch` does): the same seed gives the same run.
//! - Dropping any of the futures is what a crash looks like. No destructor commits, leaves or closes well.
//! - Verbs of the cluster are not cancel-safe: after dropping one, its producer is made anew.

mod away;
mod check;
mod close;
mod commit;
mod committed;
mod drain;
mod error;
mod fall_back;
mod gather;
mod identity;
mod intake;
mod learn;
mod lend;
mod order;
mod origin;
mod outlet;
mod owner;
mod passages;
mod patience;
mod plan;
mod pulse;
mod ready;
mod rebuilds;
mod restore;
mod restorer;
mod running;
mod sabotage;
mod seat;
mod signal;
mod slot;
mod spawn;
mod standing;
mod status;
mod supervisor;
mod take;
mod vouch;
mod watch;
mod watchdog;
mod worker;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::mpsc::unbounded_channel;

pub use error::{RunError, TaskFailure};
pub use running::Running;
pub use status::{Restored, RunState, Status, TaskPhase, TaskStatus};

pub(crate) use check::{Found, TopicState, find as find_topics, make_changelogs};
pub(crate) use lend::Lent;
pub(crate) use patience::retried;
pub(crate) use plan::{Plan, Settings, Transactions};
pub(crate) use running::block_on;
pub(crate) use spawn::{Seed, Spawner, Threads};

use self::{owner::OwnerSeed, status::Board, supervisor::Supervisor};
use crate::{
    clock::{BoxFuture, Clock},
    cluster::Cluster,
};

/// Starts an instance of an application. Returns at once; what goes wrong is in the status.
pub(crate) fn start(
    plan: Plan,
    cluster: Arc<dyn Cluster>,
    clock: Arc<dyn Clock>,
    spawner: &Arc<dyn Spawner>,
) -> Result<Running, RunError> {
    let board = Arc::new(Board::new(plan.settings.threads.max(1)));
    let supervisor = Supervisor {
        board,
        clock,
        stop_deadline: plan.settings.stop_deadline,
    };
    let (requests, receiver) = unbounded_channel();
    let owner = OwnerSeed {
        plan: Arc::new(plan),
        cluster,
        supervisor: supervisor.clone(),
        spawner: spawner.clone(),
        requests: receiver,
    };
    let run = Box::new(move || -> BoxFuture<'static, ()> { Box::pin(owner.run()) });
    spawner
        .spawn("kproc-owner".to_owned(), run)
        .map_err(|error| RunError::Thread(error.to_string()))?;
    Ok(Running { supervisor, requests })
}
