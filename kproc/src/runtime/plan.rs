//! What an instance is to run, and how.

use std::{path::PathBuf, sync::Arc, time::Duration};

use kproc_store::EnvironmentOptions;

use super::sabotage::Sabotage;
use crate::{
    engine::{Factory, TaskSettings},
    topology::Topology,
};

/// An application, ready to be started.
#[derive(Clone)]
pub(crate) struct Plan {
    /// What it consists of.
    pub(crate) topology: Arc<Topology>,
    /// What makes its processors, in the topology's order.
    pub(crate) factories: Arc<[Factory]>,
    /// How it is run.
    pub(crate) settings: Settings,
}

impl Plan {
    /// Where the application's state is.
    pub(super) fn directory(&self) -> PathBuf {
        self.settings.state_dir.join(&*self.topology.app)
    }
}

/// How an application is run.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How many workers, each on a thread of its own.
    pub(crate) threads: usize,
    /// Where state is kept: `<state_dir>/<app>/<processor>/<partition>`.
    pub(crate) state_dir: PathBuf,
    /// Records, changelogs and offsets are committed in transactions. `None`: at least once, without.
    pub(crate) transactions: Option<Transactions>,
    /// How much time passes between commits.
    pub(crate) commit_interval: Duration,
    /// How long a stop may take that nobody set a deadline for: after a failure.
    pub(crate) stop_deadline: Duration,
    /// How long this instance may be silent before its partitions are given away.
    pub(crate) session_timeout: Duration,
    /// How often it is heard of meanwhile, if not a ninth of that.
    pub(crate) heartbeat_interval: Option<Duration>,
    /// How long a partition that is wanted back may be kept to finish and commit.
    pub(crate) revoke_timeout: Duration,
    /// How long a cluster that does not answer is asked again before the instance gives up.
    pub(crate) patience: Duration,
    /// A handler that does not come back for so long stops the instance, so that others get its partitions.
    pub(crate) stuck_after: Duration,
    /// How often it is looked whether the topics still are what they were at the start.
    pub(crate) topic_check: Duration,
    /// Policies, and how tasks wait for their inputs.
    pub(crate) task: TaskSettings,
    /// Memory for records on their way in and out and for state that is not yet committed, in bytes.
    pub(crate) memory: usize,
    /// How many changelog records are restored in one go.
    pub(crate) restore_batch: usize,
    /// After so many restored records an environment is closed and opened again: LMDB keeps the pages of large
    /// transactions until then.
    pub(crate) reopen_after: u64,
    /// How state is kept.
    pub(crate) store: EnvironmentOptions,
    /// A fault that a test has planted.
    pub(crate) sabotage: Option<Sabotage>,
}

/// How transactions are made.
#[derive(Debug, Clone)]
pub(crate) struct Transactions {
    /// The brokers abort one that is older than this.
    pub(crate) timeout: Duration,
}

impl Settings {
    /// How long something is waited for that a transaction may hold which somebody has left open: longer than it takes the
    /// brokers to end it.
    pub(super) fn patience_with_transactions(&self) -> Duration {
        let timeout = self
            .transactions
            .as_ref()
            .map(|transactions| transactions.timeout);
        self.patience.max(timeout.unwrap_or_default().saturating_mul(2))
    }

    /// The defaults, with state in this directory.
    pub(crate) fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            threads: 1,
            state_dir: state_dir.into(),
            transactions: None,
            commit_interval: Duration::from_secs(1),
            stop_deadline: Duration::from_secs(30),
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: None,
            revoke_timeout: Duration::from_secs(8),
            patience: Duration::from_secs(120),
            stuck_after: Duration::from_secs(300),
            topic_check: Duration::from_secs(15),
            task: TaskSettings::default(),
            memory: 256 << 20,
            restore_batch: 10_000,
            reopen_after: 100_000,
            store: EnvironmentOptions::default(),
            sabotage: None,
        }
    }
}

/// A share of [`Settings::memory`] for each kind of use: half for what tasks have sent and not yet committed, a quarter
/// for what they were given, and a quarter for the cluster's client: what it reads ahead and what it has to write. Of
/// that, each gets half, and is told half of its half, for small records take as much again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Bytes of records taken from an input at once.
    pub(super) batch: usize,
    /// Bytes that a task's outbox and overlays may hold together.
    pub(super) task: usize,
}

impl Share {
    /// How many records are taken from an input of which nothing is known yet.
    pub(super) const FIRST_BATCH: usize = 32;
    /// More in one batch gains nothing, and delays what waits for the task to rest.
    const LARGEST_BATCH: usize = 1024;
    /// What a record takes besides its key, value and headers.
    const RECORD: usize = 64;
    /// Even the smallest share holds one large record.
    const SMALLEST_TASK: usize = 64 << 10;

    /// A partition that reads further ahead gains no speed.
    const LARGEST_READ_AHEAD: usize = 8 << 20;
    /// A producer with more to write gains no speed.
    const LARGEST_BUFFER: usize = 8 << 20;
    /// There is room for one large record.
    const SMALLEST_BUFFER: usize = 2 << 20;

    /// Bytes that each partition may read ahead, if all of them come to this process.
    pub(super) fn read_ahead(memory: usize, partitions: usize) -> usize {
        (memory / 16 / partitions.max(1)).min(Self::LARGEST_READ_AHEAD)
    }

    /// Bytes that may wait in the producer of each worker.
    pub(super) fn buffer(memory: usize, workers: usize) -> usize {
        (memory / 16 / workers.max(1)).clamp(Self::SMALLEST_BUFFER, Self::LARGEST_BUFFER)
    }

    /// The shares when a process has this many tasks that read `inputs` partitions together.
    pub(super) fn of(memory: usize, tasks: usize, inputs: usize) -> Self {
        Self {
            batch: memory / 4 / inputs.max(1),
            task: (memory / 2 / tasks.max(1)).max(Self::SMALLEST_TASK),
        }
    }

    /// How many records to take next, after so many of so many bytes: as many of their size as fit, but not many
    /// more than last time, for the next ones may be larger.
    pub(super) fn next_limit(self, limit: usize, records: usize, bytes: usize) -> usize {
        let size = bytes / records.max(1) + Self::RECORD;
        let most = limit.saturating_mul(4).min(Self::LARGEST_BATCH);
        (self.batch / size).clamp(1, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e14_open_transactions_are_waited_for_until_the_brokers_end_them() {
        let mut settings = Settings::new("state");
        assert_eq!(settings.patience_with_transactions(), settings.patience);
        let timeout = Duration::from_secs(900);
        settings.transactions = Some(Transactions { timeout });
        assert!(settings.patience_with_transactions() > timeout);
    }

    #[test]
    fn shares_shrink_with_the_number_of_partitions() {
        let many = Share::of(256 << 20, 1000, 2000);
        assert_eq!(many.batch, (64 << 20) / 2000);
        assert!(1000 * many.task <= 128 << 20);
        assert_eq!(Share::read_ahead(256 << 20, 1), 8 << 20);
        assert!(500 * Share::read_ahead(256 << 20, 500) <= 16 << 20);
        assert!(8 * Share::buffer(256 << 20, 8) <= 16 << 20);
    }

    #[test]
    fn g12_large_records_are_taken_one_at_a_time_and_small_ones_by_the_thousand() {
        let share = Share::of(64 << 20, 10, 10);
        let mut limit = Share::FIRST_BATCH;
        for _ in 0..4 {
            limit = share.next_limit(limit, limit, limit * 100);
        }
        assert_eq!(limit, 1024);
        limit = share.next_limit(limit, limit, limit * 175_000);
        assert!((1..=10).contains(&limit), "{limit} records of 175 kB");
        limit = share.next_limit(limit, limit, limit * 10_000_000);
        assert_eq!(limit, 1);
        assert_eq!(share.next_limit(limit, 1, 100), 4, "it grows slowly again");
    }
}
