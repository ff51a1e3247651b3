//! At least once: whether a worker's tasks are still ours is asked before something is written, if that was not heard
//! for some time.
//!
//! Nothing fences what is written without transactions. A process that has stood still for longer than its session goes
//! on as if nothing had been, and would write old values over those of whoever has its partitions now. The group refuses
//! the *offsets* of such a process; so the offsets that were committed last are committed again, first. While commits
//! are accepted in good time, nothing is asked. In transactions the offsets are refused together with the records.

use std::time::Duration;

use super::{
    committed,
    fall_back::Fault,
    passages,
    sabotage::Sabotage,
    seat::Fate,
    slot::{Slot, Tenure},
    worker::Worker,
};
use crate::{
    cluster::{ClusterErrorKind, OffsetCommit},
    topology::Topology,
};

/// What waits in a producer while nothing goes on for so long is not to be written: if the process has stood still, its session may
/// be over. The last heartbeat may have been a third of a session before that, and rarely more.
pub(super) fn stale_after(session: Duration) -> Duration {
    session * 2 / 3
}

/// How often it is asked, if each answer takes as long as it is good for.
const ATTEMPTS: u32 = 3;

/// When the group was last heard to take this instance for its member.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// When a commit was sent that was accepted.
    proven: Option<Duration>,
}

impl Standing {
    /// A commit that was sent then was accepted.
    pub(super) fn prove(&mut self, sent: Duration) {
        self.proven = self.proven.max(Some(sent));
    }

    /// Whether partitions may be somebody else's by now. A session begins with a heartbeat, which may have been a while
    /// before the commit: so half of one is not asked about.
    fn is_doubtful(&self, now: Duration, session: Duration) -> bool {
        self.proven
            .is_none_or(|proven| now.saturating_sub(proven) > session / 2)
    }
}

impl Worker {
    /// Makes sure, before something of these tasks is written, that they are still ours. Those that are not are void
    /// afterwards.
    pub(super) async fn confirm(
        &mut self,
        tasks: &[Tenure],
        deadline: Option<Duration>,
    ) -> Result<(), Fault> {
        if self.outlet.is_transactional() || self.plan.has(Sabotage::Unconfirmed) {
            return Ok(());
        }
        // The process may stand still while it waits for the answer, too.
        for _ in 0..ATTEMPTS {
            let (now, session) = (self.clock.now(), self.plan.settings.session_timeout);
            if !self.standing.is_doubtful(now, session) {
                break;
            }
            self.clock.comes_to(passages::DOUBTED);
            self.commit_again(tasks, deadline).await?;
        }
        // Whoever is a member may have been too slow to give a single partition back.
        let now = self.clock.now();
        for tenure in tasks {
            if self.board.is_over(*tenure, now) {
                self.disowned(*tenure);
            }
        }
        Ok(())
    }

    /// Commits what was committed last. Tasks that are not ours are void afterwards.
    async fn commit_again(&mut self, tasks: &[Tenure], deadline: Option<Duration>) -> Result<(), Fault> {
        let all = tasks.iter().flat_map(|tenure| self.last_committed(*tenure));
        match self.commit_until(all.collect(), deadline).await {
            Err(Fault::Offsets(error)) if error.kind == ClusterErrorKind::OwnershipLost => {}
            other => return other,
        }
        // Not all of them: one by one.
        for tenure in tasks {
            match self.commit_until(self.last_committed(*tenure), deadline).await {
                Err(Fault::Offsets(error)) if error.kind == ClusterErrorKind::OwnershipLost => {
                    self.disowned(*tenure);
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// What was committed of a task last. Nothing, if it has no state and nothing was committed yet: then nothing can be
    /// written over.
    pub(super) fn last_committed(&self, tenure: Tenure) -> Vec<OffsetCommit> {
        let seat = self.seats.get(&tenure).filter(|seat| seat.fate != Fate::Void);
        seat.map_or_else(Vec::new, |seat| offsets(&self.plan.topology, &seat.slot))
    }
}

fn offsets(topology: &Topology, slot: &Slot) -> Vec<OffsetCommit> {
    let marks = committed::marks(topology, slot.tenure.task.group);
    let committed = slot
        .inputs
        .iter()
        .filter_map(|input| Some((input, input.committed.as_ref()?)));
    let again = committed.map(|(input, committed)| {
        let time = committed::stream_time(&committed.metadata);
        OffsetCommit {
            partition: input.partition.clone(),
            ownership: input.ownership,
            next: committed.next,
            metadata: committed::encode(time, input.origin, &marks),
        }
    });
    again.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_session_after_a_commit_there_is_doubt() {
        let session = Duration::from_secs(10);
        let at = Duration::from_secs;
        let mut standing = Standing::default();
        assert!(standing.is_doubtful(at(0), session));
        standing.prove(at(7));
        standing.prove(at(6));
        assert!(!standing.is_doubtful(at(12), session));
        assert!(standing.is_doubtful(at(13), session));
    }
}
