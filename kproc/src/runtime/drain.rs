//! Finds out when all input that is there has been processed and committed, and all that follows from it by stream time.
//!
//! Only what the cluster says counts: every partition of every input is committed up to its end, and with it that nothing is
//! owed, twice in a row with nothing written in between. Outputs are written before the offsets of their inputs are
//! committed, so topics between processors are included.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::{
    committed,
    error::RunError,
    lend::Borrower,
    order::{Done, WorkerHandle, WorkerOrder},
    patience::retried,
    plan::Plan,
    status::Board,
};
use crate::{
    clock::{BoxFuture, Clock},
    cluster::{Cluster, ClusterErrorKind, Group, Isolation, Result},
    record::{Offset, Partition, TopicPartition},
};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(20);

/// What the handle asks of the owner.
pub(super) enum Request {
    /// To be answered when everything is processed and committed.
    Drain(oneshot::Sender<std::result::Result<(), RunError>>),
    /// Fire all wall-clock timers once.
    FireTimers(Done),
    /// Commit what was done.
    Commit,
    /// Lend every task as soon as it rests.
    Lend(Borrower),
}

/// Answers when everything is processed and committed.
pub(super) fn drained(
    plan: Arc<Plan>,
    cluster: Arc<dyn Cluster>,
    group: Arc<dyn Group>,
    clock: Arc<dyn Clock>,
    board: Arc<Board>,
    workers: Vec<WorkerHandle>,
    reply: oneshot::Sender<std::result::Result<(), RunError>>,
) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let watch = Watch {
            plan,
            cluster,
            group,
            clock,
            board,
            workers,
        };
        let result = watch
            .until_drained()
            .await
            .map_err(|error| RunError::cluster("cannot find out whether all input is processed", &error));
        // Nobody may be waiting any more.
        let _ = reply.send(result);
    })
}

/// Where every input partition ends.
type Ends = BTreeMap<TopicPartition, Offset>;

struct Watch {
    plan: Arc<Plan>,
    cluster: Arc<dyn Cluster>,
    group: Arc<dyn Group>,
    clock: Arc<dyn Clock>,
    board: Arc<Board>,
    workers: Vec<WorkerHandle>,
}

impl Watch {
    async fn until_drained(&self) -> Result<()> {
        let mut before = None;
        loop {
            let ends = retried(&*self.clock, self.plan.settings.patience, || self.complete()).await?;
            if ends.is_some() && ends == before {
                return Ok(());
            }
            let quiet = ends.is_none();
            before = ends;
            if quiet && self.board.all_idle() {
                // All that is left to do is to commit.
                self.workers
                    .iter()
                    .for_each(|worker| worker.send(WorkerOrder::Commit));
            }
            self.clock.sleep_until(self.clock.now() + PAUSE).await;
        }
    }

    /// The ends of all inputs, if everything before them is committed.
    async fn complete(&self) -> Result<Option<Ends>> {
        let partitions = self.partitions().await?;
        let committed = match self.group.committed(partitions.clone()).await {
            // Who is thrown out joins anew.
            Err(error) if error.kind == ClusterErrorKind::OwnershipLost => return Ok(None),
            committed => committed?,
        };
        let mut reader = self.cluster.reader(Isolation::ReadCommitted)?;
        let mut ends = Ends::new();
        for (partition, committed) in partitions.into_iter().zip(committed) {
            let marks = reader.watermarks(partition.clone()).await?;
            let owes = committed
                .as_ref()
                .is_some_and(|committed| committed::owes(&committed.metadata));
            let done = committed.map_or(marks.earliest, |committed| committed.next);
            if owes || done < marks.latest {
                return Ok(None);
            }
            ends.insert(partition, marks.latest);
        }
        Ok(Some(ends))
    }

    async fn partitions(&self) -> Result<Vec<TopicPartition>> {
        let topics = self.plan.topology.inputs().collect();
        let found = self.cluster.admin()?.identify(topics).await?;
        Ok(found
            .into_iter()
            .flatten()
            .flat_map(|topic| {
                (0..topic.partitions)
                    .map(move |number| TopicPartition::new(topic.name.clone(), Partition::new(number)))
            })
            .collect())
    }
}
