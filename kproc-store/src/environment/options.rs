//! The words of [`Environment`](super::Environment): how it is kept, how it was found, what it corresponds to.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{Environment, Host};
use crate::{Offset, Timestamp};

/// How an environment is kept.
#[derive(Debug, Clone)]
pub struct EnvironmentOptions {
    /// Size of the memory map to begin with, in bytes. It doubles when it is full.
    pub map_size: usize,
    /// The largest map, in bytes.
    pub max_map_size: usize,
    /// Sync every commit to the disk, so that the state survives power loss without a rebuild.
    pub sync: bool,
    /// The state need not outlive the machine's run, as in tests: never wait for the disk. What is left behind is
    /// trusted until the machine restarts, and then rebuilt.
    pub temporary: bool,
    /// Keep a CRC32C with every value and check it when the value is read. Decided when the environment is
    /// made; later it stays as it is.
    pub checksum: bool,
    /// The largest encoded value, in bytes: what the changelog accepts, together with the longest key and what
    /// Kafka adds to each record. By default that is 1 MiB, Kafka's own limit, less 1 KiB. At most 2 GiB.
    pub max_value_bytes: usize,
    /// The machine it is on, if that is a test's.
    #[doc(hidden)]
    pub host: Option<Arc<dyn Host>>,
}

impl Default for EnvironmentOptions {
    fn default() -> Self {
        Self {
            // Address space, not disk: the file grows as it fills. A process has 128 TiB of it, enough for 30,000
            // environments; 32-bit machines have little.
            map_size: if usize::BITS >= 64 { 4 << 30 } else { 64 << 20 },
            max_map_size: if usize::BITS >= 64 { 1 << 40 } else { 512 << 20 },
            sync: false,
            temporary: false,
            checksum: false,
            max_value_bytes: (1 << 20) - (1 << 10),
            host: None,
        }
    }
}

/// What was found when an environment was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// There was nothing.
    New,
    /// The state is good, at the positions stored in it.
    Intact,
    /// What was there cannot be trusted. The environment is empty now; rebuild it from the changelogs.
    Rebuild {
        /// Why, for the log.
        reason: String,
        /// Where the old files were put, if they may tell somebody something.
        set_aside: Option<PathBuf>,
    },
}

/// The position of an input topic's partition that the state corresponds to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPosition {
    /// The topic.
    pub topic: String,
    /// The next record to process.
    pub next: Offset,
    /// What was committed with it.
    pub metadata: String,
}

/// What a commit's state corresponds to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitPoint {
    /// For each store (by its number) with a changelog: the place after its last changelog record.
    pub changelogs: Vec<(usize, Offset)>,
    /// For each input: the next record.
    pub inputs: Vec<InputPosition>,
    /// Wall time of the commit: a time at which the changelogs had nothing that the state has not.
    pub committed_at: Option<Timestamp>,
}

/// Up to when a store has all that its changelog had: what was deleted later, it may not know of. A changelog keeps a
/// deletion for some time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// Wall time.
    pub until: Timestamp,
    /// For how long the changelog keeps deletions, as it was known when the store was last brought up.
    pub kept: Duration,
}

/// An opened environment and how it was found.
#[derive(Debug)]
pub struct Opened {
    /// The environment.
    pub environment: Environment,
    /// How it was found.
    pub condition: Condition,
}
