//! How often a worker's producer had to be made anew, and what follows: how long the next one waits before it settles what
//! the last one left open, and when it is no accident any more.
//!
//! Data only. Each new producer of an id ends the one before, and takes one of the id's epochs, of which a broker has
//! 32,767 until it gives the id another number: so tries are spaced, and they end.

use std::{collections::VecDeque, time::Duration};

/// What is waited before the second try; the first is made at once.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// So many failures in a row are no outage any more: six minutes, if the brokers answer at once, and more if they do not.
const MOST_FAILURES: u32 = 40;

/// So many times in [`WINDOW`] a producer is not fenced by accident: a request that comes late may do it once.
pub(super) const MOST_FENCINGS: usize = 6;
pub(super) const WINDOW: Duration = Duration::from_secs(600);

/// See the module.
#[derive(Default)]
pub(super) struct Rebuilds {
    /// In a row, without a commit between them.
    failures: u32,
    /// When a newer producer took this one's place, the last times.
    fencings: VecDeque<Duration>,
    not_before: Duration,
}

/// It has happened too often to go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooOften;

impl Rebuilds {
    /// When the producer may settle what was left open.
    pub(super) fn not_before(&self) -> Duration {
        self.not_before
    }

    /// The producer has failed, or could not be initialised.
    pub(super) fn failed(&mut self, now: Duration) -> Result<(), TooOften> {
        self.failures += 1;
        self.wait(now);
        if self.failures > MOST_FAILURES {
            Err(TooOften)
        } else {
            Ok(())
        }
    }

    /// A newer producer has taken this one's place.
    pub(super) fn fenced(&mut self, now: Duration) -> Result<(), TooOften> {
        self.fencings.push_back(now);
        while self.fencings.front().is_some_and(|then| *then + WINDOW < now) {
            self.fencings.pop_front();
        }
        self.wait(now);
        if self.fencings.len() >= MOST_FENCINGS {
            Err(TooOften)
        } else {
            Ok(())
        }
    }

    /// A transaction was committed. That does not prove that nobody else has the id: the other one waits, too.
    pub(super) fn committed(&mut self) {
        self.failures = 0;
    }

    fn wait(&mut self, now: Duration) {
        let times = self.failures.max(self.fencings.len() as u32);
        let wait = match times {
            0 | 1 => Duration::ZERO,
            times => (FIRST_WAIT * 2_u32.saturating_pow(times - 2)).min(LONGEST_WAIT),
        };
        self.not_before = now + wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn failures_wait_longer_and_longer_and_end() {
        let mut rebuilds = Rebuilds::default();
        let (mut now, mut waits) = (SECOND, vec![]);
        while rebuilds.failed(now).is_ok() {
            waits.push(rebuilds.not_before().saturating_sub(now).as_millis());
            now = rebuilds.not_before();
        }
        assert_eq!(
            waits[..9],
            [0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000],
            "{waits:?}"
        );
        assert_eq!(waits.len(), MOST_FAILURES as usize);
        assert!(now > 300 * SECOND, "{now:?}");
    }

    #[test]
    fn a_commit_makes_up_for_failures_and_not_for_fencings() {
        let mut rebuilds = Rebuilds::default();
        for number in 0..200 {
            assert_eq!(rebuilds.failed(number * SECOND), Ok(()));
            rebuilds.committed();
        }
        for number in 1..MOST_FENCINGS as u32 {
            assert_eq!(rebuilds.fenced(number * SECOND), Ok(()));
            rebuilds.committed();
        }
        assert_eq!(rebuilds.fenced(60 * SECOND), Err(TooOften));
        // Rare ones are accidents.
        let mut rebuilds = Rebuilds::default();
        for number in 1..100 {
            assert_eq!(rebuilds.fenced(number * WINDOW / 3), Ok(()));
        }
    }
}
