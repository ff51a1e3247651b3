//! Looks what there is to do for a resting task, and takes records from its queues.

use std::{
    collections::BTreeSet,
    task::{Context, Poll},
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
    cluster::{ClusterError, ClusterErrorKind},
    record::Offset,
};

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
                        self.supervisor
                            .fail(unreadable(&input.partition, input.queue.position(), &error));
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

fn unreadable(partition: &TopicPartition, position: Option<Offset>, error: &ClusterError) -> RunError {
    let position = position.map_or_else(|| "its start".to_owned(), |offset| format!("offset {offset}"));
    let cure = match error.kind {
        ClusterErrorKind::OffsetOutOfRange => {
            ". The records that come next were deleted before they were processed: set the group's offset to go on \
             without them"
        }
        _ => "",
    };
    RunError::Cluster {
        what: format!("cannot read {partition} from {position}"),
        reason: format!("{error}{cure}"),
    }
}
