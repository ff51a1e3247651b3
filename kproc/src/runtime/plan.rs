//! What an instance is to run, and how.

use std::{path::PathBuf, sync::Arc, time::Duration};

use kproc_store::EnvironmentOptions;

use crate::{engine::TaskSettings, topology::Topology};

/// An application, ready to be started.
#[derive(Clone)]
pub(crate) struct Plan {
    /// What it consists of.
    pub(crate) topology: Arc<Topology>,
    /// How it is run.
    pub(crate) settings: Settings,
}

/// How an application is run.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How many workers, each on a thread of its own.
    pub(crate) threads: usize,
    /// Where state is kept: `<state_dir>/<app>/<processor>/<partition>`.
    pub(crate) state_dir: PathBuf,
    /// How much time passes between commits.
    pub(crate) commit_interval: Duration,
    /// How long a stop may take that nobody set a deadline for: after a failure.
    pub(crate) stop_deadline: Duration,
    /// How long this instance may be silent before its partitions are given away.
    pub(crate) session_timeout: Duration,
    /// How long a partition that is wanted back may be kept to finish and commit.
    pub(crate) revoke_timeout: Duration,
    /// How long a cluster that does not answer is asked again before the instance gives up.
    pub(crate) patience: Duration,
    /// Policies, and how tasks wait for their inputs.
    pub(crate) task: TaskSettings,
    /// Memory for records on their way in and out and for state that is not yet committed, in bytes.
    pub(crate) memory: usize,
    /// How many changelog records are restored in one go.
    pub(crate) restore_batch: usize,
    /// How state is kept.
    pub(crate) store: EnvironmentOptions,
}

impl Settings {
    /// The defaults, with state in this directory.
    pub(crate) fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            threads: 1,
            state_dir: state_dir.into(),
            commit_interval: Duration::from_secs(1),
            stop_deadline: Duration::from_secs(30),
            session_timeout: Duration::from_secs(45),
            revoke_timeout: Duration::from_secs(8),
            patience: Duration::from_secs(120),
            task: TaskSettings::default(),
            memory: 256 << 20,
            restore_batch: 10_000,
            store: EnvironmentOptions::default(),
        }
    }
}

/// A share of [`Settings::memory`] for each kind of use. What is in librdkafka's or the log's own buffers is
/// not ours to count; what we take out of them is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Records taken from an input at once.
    pub(super) batch: usize,
    /// Bytes that a task's outbox and overlays may hold together.
    pub(super) task: usize,
}

impl Share {
    /// What a record takes at the least, with its bookkeeping: the size of a batch follows from it.
    const RECORD: usize = 1 << 10;
    /// More in one batch gains nothing, and delays what waits for the task to rest.
    const LARGEST_BATCH: usize = 1024;
    const SMALLEST_BATCH: usize = 8;
    /// Even the smallest share holds one large record.
    const SMALLEST_TASK: usize = 64 << 10;

    /// The shares when a process has this many tasks that read `inputs` partitions together.
    pub(super) fn of(memory: usize, tasks: usize, inputs: usize) -> Self {
        let batch = memory / 4 / inputs.max(1) / Self::RECORD;
        Self {
            batch: batch.clamp(Self::SMALLEST_BATCH, Self::LARGEST_BATCH),
            task: (memory / 2 / tasks.max(1)).max(Self::SMALLEST_TASK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_shrink_with_the_number_of_partitions() {
        let few = Share::of(256 << 20, 4, 4);
        let many = Share::of(256 << 20, 1000, 2000);
        assert_eq!(
            few,
            Share {
                batch: 1024,
                task: 32 << 20
            }
        );
        assert_eq!(
            many,
            Share {
                batch: 32,
                task: (128 << 20) / 1000
            }
        );
        assert!(1000 * many.task <= 128 << 20);
    }
}
