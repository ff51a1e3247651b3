//! Looks what there is to do for a resting task, and takes records from its queues.

use std::{
    collections::BTreeSet,
    task::{Context, Poll},
    time::Duration,
};

use super::{
    error::RunError,
    plan::Share,
    seat::{Activity, Fate},
    slot::Tenure,
    worker::Worker,
};
use crate::{
    TopicPartition,
    cluster::{ClusterError, ClusterErrorKind, Isolation, Watermarks},
    record::Offset,
};

/// How long the cluster may take to say where a partition begins.
const ANSWER: Duration = Duration::from_secs(3);

impl Worker {
    /// Looks what there is to do for these tasks.
    pub(super) fn look(&mut self, tasks: &BTreeSet<Tenure>) {
        for &tenure in tasks {
            self.look_at(tenure);
        }
    }

    fn look_at(&mut self, tenure: Tenure) {
        let share = self.share();
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return;
        };
        if seat.fate != Fate::GoesOn || !seat.started || !seat.at_rest() || self.board.is_stopping() {
            return;
        }
        let Some(task) = seat.slot.task.as_mut() else {
            return;
        };
        seat.rest.clear();
        if !self.orders.is_empty() {
            // Whoever gave the order asked for rest, perhaps just before that was cleared.
            self.ready.add(tenure);
            return;
        }
        let mut go = seat.unfinished || task.wake_at().is_some_and(|due| due <= self.clock.now());
        let waker = self.ready.waker(tenure);
        for (number, input) in seat.slot.inputs.iter_mut().enumerate() {
            let known = &mut seat.known[number];
            if task.wants(number) {
                match input
                    .queue
                    .poll_batch(&mut Context::from_waker(&waker), known.limit)
                {
                    Poll::Ready(Ok(batch)) => {
                        if batch.remaining() > 0 {
                            known.limit = share.next_limit(known.limit, batch.remaining(), batch.bytes());
                            task.feed(number, batch);
                        } else {
                            // Only markers or gaps; there may be more behind them.
                            self.ready.add(tenure);
                        }
                        go = true;
                    }
                    Poll::Ready(Err(error)) => {
                        seat.fate = Fate::Failed;
                        self.unreadable.push(Unreadable {
                            partition: input.partition.clone(),
                            position: input.queue.position(),
                            error,
                        });
                        return;
                    }
                    Poll::Pending => {}
                }
            }
            let places = (input.queue.position(), input.queue.known_end());
            if places != known.places {
                known.places = places;
                task.known(number, places.0, places.1);
                go = true;
            }
        }
        if go {
            self.activate(tenure, Activity::Run);
        } else {
            seat.wake_at = task.wake_at();
        }
    }

    pub(super) fn share(&self) -> Share {
        let groups = &self.plan.topology.groups;
        let inputs = groups.iter().map(|group| group.inputs.len()).max().unwrap_or(1);
        let tasks = self.board.tasks();
        Share::of(self.plan.settings.memory, tasks, tasks * inputs)
    }
}

/// An input that cannot be read any more.
pub(super) struct Unreadable {
    partition: TopicPartition,
    position: Option<Offset>,
    error: ClusterError,
}

impl Worker {
    /// Stops the instance for inputs that cannot be read, and says why.
    pub(super) async fn tell_unreadable(&mut self) {
        for unreadable in std::mem::take(&mut self.unreadable) {
            let ends = match unreadable.error.kind {
                ClusterErrorKind::OffsetOutOfRange => self.ends(unreadable.partition.clone()).await,
                _ => None,
            };
            let error = unreadable.explain(&self.plan.topology.app, ends);
            self.supervisor.fail(error);
        }
    }

    /// Where a partition begins and ends, if the cluster says so soon.
    async fn ends(&self, partition: TopicPartition) -> Option<Watermarks> {
        let mut reader = self.cluster.reader(Isolation::ReadCommitted).ok()?;
        let enough = self.clock.now() + ANSWER;
        tokio::select! { biased;
            ends = reader.watermarks(partition) => ends.ok(),
            () = self.clock.sleep_until(enough) => None,
        }
    }
}

impl Unreadable {
    fn explain(self, group: &str, ends: Option<Watermarks>) -> RunError {
        let Self {
            partition,
            position,
            error,
        } = self;
        let place = position.map_or_else(|| "its start".to_owned(), |offset| format!("offset {offset}"));
        let passed = ends
            .map(|ends| ends.latest)
            .filter(|end| position.is_some_and(|position| position > *end));
        let reason = match (error.kind, passed) {
            (ClusterErrorKind::OffsetOutOfRange, Some(end)) => {
                format!(
                    "it ends at offset {end}. The group `{group}` was set beyond the end, or the brokers have lost records \
                     that it had processed, or the topic was made again. To go on with what is written from now on, set the \
                     group's offset with all instances stopped (`kafka-consumer-groups --group {group} --reset-offsets \
                     --topic {}:{} --to-latest --execute`), and start again; {error}",
                    partition.topic, partition.partition
                )
            }
            (ClusterErrorKind::OffsetOutOfRange, None) => {
                let lowest = ends.map_or_else(
                    || "its records begin or end elsewhere".to_owned(),
                    |ends| format!("the first offset that it still has is {}", ends.earliest),
                );
                format!(
                    "{lowest}. The records between were deleted (by the topic's retention?) before the group `{group}` had \
                     processed them, or the topic was made again. kproc does not pass over them by itself: to go on \
                     without them, set the group's offset with all instances stopped (`kafka-consumer-groups --group \
                     {group} --reset-offsets --topic {}:{} --to-earliest --execute`), and start again; {error}",
                    partition.topic, partition.partition
                )
            }
            (ClusterErrorKind::UnknownTopic, _) => {
                format!(
                    "{error}. The topic was deleted while the application ran, or has lost this partition"
                )
            }
            _ => error.to_string(),
        };
        RunError::Cluster {
            what: format!("cannot read {partition} from {place}"),
            reason,
        }
    }
}
