//! How far a task's restore is, for the status and, now and then, the log.

use std::time::Duration;

use super::{
    super::{
        slot::Tenure,
        status::{Restored, TaskPhase},
    },
    Restore,
};

/// How much time passes between two lines about a restore. One that takes less says what it took at the level `debug` only.
const INTERVAL: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Progress<'r> {
    restore: &'r Restore,
    tenure: Tenure,
    begun: Duration,
    said: Duration,
    done: u64,
    total: u64,
    replayed: u64,
}

impl<'r> Progress<'r> {
    pub(super) fn new(restore: &'r Restore, tenure: Tenure) -> Self {
        let now = restore.clock.now();
        Self {
            restore,
            tenure,
            begun: now,
            said: now,
            done: 0,
            total: 0,
            replayed: 0,
        }
    }

    /// Places in changelogs passed so far, markers included.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// So many records are to be passed, besides those known of.
    pub(super) fn expect(&mut self, records: u64) {
        self.total += records;
        self.show();
    }

    /// So many of those will not be passed: it is begun anew.
    pub(super) fn give_up(&mut self, records: u64) {
        self.total = self.total.saturating_sub(records);
    }

    /// So many places were passed, and as many records of them were there to be replayed.
    pub(super) fn pass(&mut self, places: u64, replayed: u64) {
        self.done += places;
        self.replayed += replayed;
        self.show();
        let now = self.restore.clock.now();
        if now.saturating_sub(self.said) >= INTERVAL {
            self.said = now;
            let (rate, left) = pace(self.done, self.total, now.saturating_sub(self.begun));
            tracing::info!(
                task = %self.tenure.task, done = self.done, total = self.total, records_per_second = rate,
                left = %humantime::format_duration(left), "restoring state from its changelog"
            );
        }
    }

    /// All is restored: stores of so many entries.
    pub(super) fn end(&self, entries: u64) {
        let Self { done, replayed, .. } = *self;
        let restored = Restored { replayed, entries };
        self.restore.board.restored(self.tenure, restored);
        let took = self.restore.clock.now().saturating_sub(self.begun);
        let task = self.tenure.task;
        if took < INTERVAL {
            tracing::debug!(%task, replayed, entries, ?took, "state is restored");
        } else {
            let (rate, _) = pace(done, self.total, took);
            let took = Duration::from_secs(took.as_secs());
            tracing::info!(
                %task, replayed, entries, records_per_second = rate,
                took = %humantime::format_duration(took), "state is restored"
            );
        }
    }

    fn show(&self) {
        let (done, total) = (self.done, self.total);
        self.restore
            .board
            .task(self.tenure, TaskPhase::Restoring { done, total });
    }
}

/// Records per second, and how much time the rest takes at that rate, in whole seconds.
fn pace(done: u64, total: u64, took: Duration) -> (u64, Duration) {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = done.saturating_mul(1000) / millis;
    let left = total.saturating_sub(done);
    (rate, Duration::from_secs(left.div_ceil(rate.max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_records_passed() {
        let seconds = Duration::from_secs;
        assert_eq!(pace(50_000, 200_000, seconds(5)), (10_000, seconds(15)));
        assert_eq!(pace(0, 7, seconds(5)), (0, seconds(7)));
        assert_eq!(pace(7, 7, Duration::ZERO), (7000, Duration::ZERO));
    }
}
