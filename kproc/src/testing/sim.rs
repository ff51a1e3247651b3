//! The embedded cluster and the runtime on the seeded executor: messages take a while (unless nothing takes time),
//! requests outlive their futures, readers get as much as chance will have it.

use std::time::Duration;

use super::{
    clock::{Coordinator, SimClock},
    exec::Crew,
    faults,
};
use crate::{
    clock::Clock,
    cluster::{
        ClusterErrorKind,
        embedded::{Driver, Fault, Job, Verb},
    },
    runtime::{Seed, Spawner},
};

/// Readers get no more at once than this, for small batches end in more places.
const LARGEST_BATCH: u64 = 32;

/// Who carries a request out, if that is a coordinator.
fn coordinator_of(verb: Verb) -> Option<Coordinator> {
    match verb {
        Verb::Committed | Verb::Commit => Some(Coordinator::Group),
        Verb::InitTransactions | Verb::SendOffsets | Verb::EndTransaction => Some(Coordinator::Transactions),
        _ => None,
    }
}

/// What it means that there is no coordinator: as the verdicts on errors of a real cluster have it.
fn without_coordinator(verb: Verb) -> ClusterErrorKind {
    match verb {
        Verb::SendOffsets => ClusterErrorKind::AbortTransaction,
        Verb::EndTransaction => ClusterErrorKind::Unknown,
        _ => ClusterErrorKind::Retriable,
    }
}

impl Driver for SimClock {
    fn run_at(&self, due: Duration, job: Job) {
        self.schedule(due, job);
    }

    fn latency(&self) -> Option<Duration> {
        self.delay()
    }

    fn request_timeout(&self) -> Duration {
        // Short ones, too, so that something comes of it before the simulation is over.
        Duration::from_millis(100 << (self.random() % 9))
    }

    fn batch_size(&self, max: usize) -> usize {
        if let Some(chance) = self.chance(LARGEST_BATCH) {
            return max.min(chance as usize + 1);
        }
        // Small ones mostly: what goes wrong between batches goes wrong there.
        let largest = if self.random().is_multiple_of(4) {
            max
        } else {
            max.min(16)
        };
        1 + (self.random() % largest as u64) as usize
    }

    fn fault(&self, verb: Verb) -> Option<Fault> {
        if coordinator_of(verb).is_some_and(|coordinator| self.is_away(coordinator)) {
            // It is refused, or nobody hears of it, or the one that went has still carried it out.
            return Some(match self.random() % 4 {
                0 => Fault::LoseRequest,
                1 => Fault::LoseAnswer,
                _ => Fault::Refuse(without_coordinator(verb)),
            });
        }
        #[cfg(test)]
        if !faults::is_no_request(verb)
            && let Some(chance) = self.request_fails()
        {
            return super::mishaps::pick(chance, faults::of(verb));
        }
        self.request_mishap(verb as u64, faults::seldom(verb), &verb, faults::of(verb))
    }
}

/// Spawns the parts of an instance as one crew.
pub(crate) struct SimSpawner {
    pub(crate) clock: SimClock,
    pub(crate) crew: Crew,
}

impl Spawner for SimSpawner {
    fn spawn(&self, _: String, seed: Seed) -> std::io::Result<()> {
        self.clock.spawn(self.crew, seed);
        Ok(())
    }
}
