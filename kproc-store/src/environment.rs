//! One LMDB environment: the stores of one processor in one partition, and what they correspond to.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{Buffer, Marks, Offset, OpenError, StoreError, StoreSpec, Timestamp};

/// How an environment is kept.
#[derive(Debug, Clone)]
pub struct EnvironmentOptions {
    /// Size of the memory map to begin with, in bytes. It doubles when it is full.
    pub map_size: usize,
    /// The largest map, in bytes.
    pub max_map_size: usize,
    /// Sync every commit to the disk, so that the state survives power loss without a rebuild.
    pub sync: bool,
    /// Keep a CRC32C with every value and check it when the value is read.
    pub checksum: bool,
    /// The largest encoded value, in bytes: what the changelog accepts.
    pub max_value_bytes: usize,
    /// Older than this, a changelog may have dropped tombstones that the state has not seen: rebuild.
    pub tombstone_retention: Duration,
}

impl Default for EnvironmentOptions {
    fn default() -> Self {
        Self {
            map_size: 64 << 30,
            max_map_size: 1 << 40,
            sync: false,
            checksum: false,
            max_value_bytes: 1 << 20,
            tombstone_retention: Duration::from_secs(24 * 3600),
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
        set_aside: Option<std::path::PathBuf>,
    },
}

/// The position of an input topic's partition that the state corresponds to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPosition {
    /// The topic.
    pub topic: String,
    /// The next record to process.
    pub next: Offset,
}

/// What a commit's state corresponds to.
#[derive(Debug, Clone, Default)]
pub struct CommitPoint {
    /// For each store (by its number) with a changelog: the place after its last changelog record.
    pub changelogs: Vec<(usize, Offset)>,
    /// For each input: the next record.
    pub inputs: Vec<InputPosition>,
    /// The task's stream time.
    pub stream_time: Option<Timestamp>,
    /// Wall time of the commit.
    pub committed_at: Option<Timestamp>,
}

/// An opened environment and how it was found.
pub struct Opened {
    /// The environment.
    pub environment: Environment,
    /// How it was found.
    pub condition: Condition,
}

/// An LMDB environment, locked against other writers for as long as it lives.
pub struct Environment {}

#[allow(
    unused_variables,
    clippy::todo,
    clippy::unused_self,
    clippy::needless_pass_by_value
)]
impl Environment {
    /// Opens (or makes) the environment in `directory` with these stores, numbered in this order.
    /// `now` is wall time, for the age check.
    pub fn open(
        directory: &Path,
        stores: &[StoreSpec],
        options: &EnvironmentOptions,
        now: Timestamp,
    ) -> Result<Opened, OpenError> {
        todo!()
    }

    /// A buffer on a store. At most one per store at a time.
    pub fn buffer(&self, store: usize, marks: &Arc<Marks>) -> Result<Buffer, StoreError> {
        todo!()
    }

    /// Where in its changelog a store is; `None` if nothing was ever committed or restored.
    pub fn position(&self, store: usize) -> Result<Option<Offset>, StoreError> {
        todo!()
    }

    /// The input positions and stream time of the last commit.
    pub fn last_commit(&self) -> Result<CommitPoint, StoreError> {
        todo!()
    }

    /// Restores a piece of a changelog: entries (`None`: deleted) in log order, and the place after them, in
    /// one transaction. No buffer may be open on the store.
    pub fn restore<'a>(
        &self,
        store: usize,
        entries: &mut dyn Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
        next: Offset,
    ) -> Result<(), StoreError> {
        todo!()
    }

    /// Empties a store and forgets its position (its changelog was deleted or no longer goes back far enough).
    pub fn clear(&self, store: usize) -> Result<(), StoreError> {
        todo!()
    }

    /// Writes what the buffers hold, sorted, with the positions it corresponds to, in one short transaction.
    /// On success the buffers are empty and read the new state; on an error they are as they were.
    pub fn commit(
        &self,
        buffers: &mut [(usize, &mut Buffer)],
        point: &CommitPoint,
    ) -> Result<(), StoreError> {
        todo!()
    }

    /// Closes in good order: synced and marked clean. All buffers must be gone.
    pub fn close(self) -> Result<(), StoreError> {
        todo!()
    }
}
