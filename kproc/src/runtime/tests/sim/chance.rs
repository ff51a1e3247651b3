//! Chance from a seed, apart from the executor's: what is drawn here does not depend on what happens in a run.

use std::time::Duration;

use crate::clock::{GOLDEN, mix};

/// A source of random numbers. The same seed and subject give the same ones.
pub(super) struct Chance(u64);

impl Chance {
    /// The chances of a trial, apart for each subject.
    pub(super) fn of(seed: u64, subject: u64) -> Self {
        Self(mix(seed.wrapping_mul(GOLDEN) ^ mix(subject)))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// A time below `end`, to the nanosecond.
    pub(super) fn time(&mut self, end: Duration) -> Duration {
        Duration::from_nanos(self.below(end.as_nanos() as u64))
    }
}
