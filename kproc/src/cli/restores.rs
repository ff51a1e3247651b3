//! A bar for the restores of a running application.

use std::{collections::BTreeMap, convert::Infallible, future::pending, io::IsTerminal, time::Duration};

use tokio::time;

use super::progress::Progress;
use crate::{Partition, RunState, Running, Status, TaskPhase};

/// How often the bar moves.
const TICK: Duration = Duration::from_millis(100);

/// Shows how far restores are, while there are any, on a terminal. (The runtime tells the log.) Never ends.
pub(super) async fn show(running: &Running, quiet: bool) -> Infallible {
    if quiet || !std::io::stderr().is_terminal() {
        return pending().await;
    }
    let mut bar = None;
    let mut all = All::default();
    loop {
        let changed = running.changed();
        let status = running.status();
        if status.state == RunState::Restoring {
            let (done, total) = all.update(&status);
            if total > 0 {
                bar.get_or_insert_with(|| Progress::new("restoring", false))
                    .set(done, total);
            }
        } else {
            (bar, all) = (None, All::default());
        }
        changed.await;
        time::sleep(TICK).await;
    }
}

/// All tasks that have been restoring since the bar was there.
#[derive(Default)]
struct All(BTreeMap<(usize, Partition), (u64, u64)>);

impl All {
    /// How many records are done, and how many there are. Tasks that are restored count on.
    fn update(&mut self, status: &Status) -> (u64, u64) {
        for task in &status.tasks {
            let of_task = (task.group, task.partition);
            match task.phase {
                TaskPhase::Restoring { done, total } => {
                    self.0.insert(of_task, (done, total));
                }
                TaskPhase::Running { .. } => {
                    if let Some((done, total)) = self.0.get_mut(&of_task) {
                        *done = *total;
                    }
                }
            }
        }
        let sum = |(done, total), (of_done, of_total): &(u64, u64)| (done + of_done, total + of_total);
        self.0.values().fold((0, 0), sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::TaskStatus;

    #[test]
    fn a_task_that_is_restored_counts_on() {
        let task = |partition, phase| TaskStatus {
            group: 0,
            partition: Partition::new(partition),
            phase,
            restored: None,
        };
        let status = |tasks| Status {
            state: RunState::Restoring,
            tasks,
            failure: None,
        };
        let restoring = |done, total| TaskPhase::Restoring { done, total };
        let mut all = All::default();
        let first = [task(0, restoring(5, 10)), task(1, restoring(0, 0))];
        assert_eq!(all.update(&status(first.to_vec())), (5, 10));
        let then = [
            task(0, TaskPhase::Running { worker: 0 }),
            task(1, restoring(3, 4)),
        ];
        assert_eq!(all.update(&status(then.to_vec())), (13, 14));
    }
}
