//! The state of a task that has nothing to commit is noted to be up to date, now and then.
//!
//! A store that was left alone for longer than its changelog keeps deletions may have missed one, and is filled anew when
//! there is something in the changelog that it does not have (see [`restore::age`](super::restore::age)). A task that rests
//! for a day misses nothing: nobody else writes to its changelogs as long as its partition is ours. But a process may have
//! stood still, and not know that it is not; so the group is asked, by committing again what was committed last.

use std::time::Duration;

use super::{
    commit::committed_before,
    seat::{Seat, Uncommitted},
    slot::Tenure,
    worker::Worker,
};
use crate::{
    cluster::{ClusterErrorKind, Positions, Result},
    record::Timestamp,
};

impl Worker {
    /// Does so for the tasks for which it is time. If the group does not say that they are ours, it is tried another time.
    pub(super) async fn vouch(&mut self) {
        let now = self.clock.now();
        let due = self.seats.iter_mut().filter(|(_, seat)| rests(seat));
        let due: Vec<Tenure> = due
            .filter_map(|(tenure, seat)| {
                let vouch = seat.slot.vouch.as_mut().filter(|vouch| vouch.is_due(now))?;
                vouch.put_off(now);
                Some(*tenure)
            })
            .collect();
        // Before the group is asked: until it has answered, others may have written.
        let at = self.clock.wall();
        let asked = self.vouch_for(&due, now, at).await;
        // One that is not ours any more keeps the others from being committed: one by one.
        if let Some(Err(error)) = asked
            && error.kind == ClusterErrorKind::OwnershipLost
            && due.len() > 1
        {
            for tenure in due {
                if self.vouch_for(&[tenure], now, at).await.is_none() {
                    return;
                }
            }
        }
    }

    /// Asks whether these are ours at `now`, and notes that their state is as good as at `at`. `None`: there was no time for the
    /// answer.
    async fn vouch_for(&mut self, tasks: &[Tenure], now: Duration, at: Timestamp) -> Option<Result<()>> {
        let (mut offsets, mut unchanged) = (Vec::new(), Vec::new());
        for tenure in tasks {
            let last = self.last_committed(*tenure);
            let seat = self.seats.get(tenure);
            // Without an offset nobody would say whose the partition is.
            if let (false, Some(seat)) = (last.is_empty(), seat)
                && let Some(task) = &seat.slot.task
            {
                let mut commit = task.unchanged();
                commit.inputs = committed_before(&seat.slot.inputs).collect();
                offsets.extend(last);
                unchanged.push((*tenure, commit));
            }
        }
        if offsets.is_empty() {
            return Some(Ok(()));
        }
        let asked = self.away.beside(self.group.commit(offsets), None).await?;
        match &asked {
            Ok(()) => {
                self.standing.prove(now);
                self.save_all(&unchanged, &Positions::new(), at).await;
            }
            // It is no news that there are no brokers, or that a partition is lost: others will tell.
            Err(error) => tracing::debug!(%error, "it is not known whether resting tasks are still ours"),
        }
        Some(asked)
    }
}

/// Whether a task has nothing to commit.
fn rests(seat: &Seat) -> bool {
    seat.uncommitted == Uncommitted::Nothing && seat.at_rest() && seat.committable()
}
