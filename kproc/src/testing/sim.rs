//! The embedded cluster and the runtime on the seeded executor: messages take a while (unless nothing takes time),
//! requests outlive their futures, readers get as much as chance will have it.

use std::time::Duration;

use super::{clock::SimClock, exec::Crew};
use crate::{
    clock::Clock,
    cluster::embedded::{Driver, Job},
    runtime::{Seed, Spawner},
};

/// Readers get no more at once than this, for small batches end in more places.
const LARGEST_BATCH: u64 = 32;

impl Driver for SimClock {
    fn run_at(&self, due: Duration, job: Job) {
        self.schedule(due, job);
    }

    fn latency(&self) -> Option<Duration> {
        self.delay()
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
