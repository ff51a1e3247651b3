//! Notices handlers that do not come back: those that block their worker's thread, and those that wait for ever.
//!
//! The group does not notice, for the owner keeps the membership alive. A task that rests, for want of records or
//! because the brokers are away, is never stuck: only turns of handlers are measured.

use std::{collections::BTreeMap, time::Duration};

use super::{pulse::Pulse, slot::Tenure};
use crate::engine::Seen;

/// See the module.
pub(super) struct Watchdog {
    limit: Duration,
    /// What each task that is at work was at, and since when it has been seen at that.
    seen: BTreeMap<Tenure, (Seen, Duration)>,
}

/// Something that has not come back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) worker: usize,
    /// It keeps the worker's thread to itself. If not, it waits.
    pub(super) blocks: bool,
    /// The task, and what it is at. `None`: the worker is not in a task.
    pub(super) task: Option<(Tenure, Option<Seen>)>,
    pub(super) busy: Duration,
}

impl Watchdog {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            seen: BTreeMap::new(),
        }
    }

    /// How much time should pass between two looks.
    pub(super) fn pause(&self) -> Duration {
        (self.limit / 10).clamp(Duration::from_millis(1), Duration::from_secs(1))
    }

    /// Looks at all workers.
    pub(super) fn look(&mut self, workers: &[Pulse], now: Duration) -> Vec<Stuck> {
        let before = std::mem::take(&mut self.seen);
        let mut stuck = Vec::new();
        for (worker, pulse) in workers.iter().enumerate() {
            let tasks = pulse.seen();
            let busy = pulse.busy_for(now);
            let blocks = busy >= self.limit;
            if blocks {
                let task = pulse.on_thread();
                let at = |task| {
                    tasks
                        .iter()
                        .find(|(it, _)| *it == task)
                        .and_then(|(_, seen)| *seen)
                };
                stuck.push(Stuck {
                    worker,
                    blocks,
                    task: task.map(|task| (task, at(task))),
                    busy,
                });
            }
            for (tenure, seen) in tasks {
                let Some(seen) = seen else { continue };
                let since = match before.get(&tenure) {
                    Some((last, since)) if last.turns == seen.turns => *since,
                    _ => now,
                };
                self.seen.insert(tenure, (seen, since));
                let waits = now.saturating_sub(since);
                // The others of a blocked thread only wait for it.
                if !blocks && waits >= self.limit {
                    stuck.push(Stuck {
                        worker,
                        blocks,
                        task: Some((tenure, Some(seen))),
                        busy: waits,
                    });
                }
            }
        }
        stuck
    }
}
