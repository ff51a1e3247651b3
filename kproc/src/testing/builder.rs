//! What a test says before its application starts.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use crate::{App, Topic, codec::Codec, record::Timestamp};

/// A test driver to be started: made by [`TestDriver::builder`](super::TestDriver::builder).
#[must_use = "a driver does nothing before `start`"]
pub struct TestDriverBuilder {
    pub(super) app: App,
    pub(super) seed: u64,
    pub(super) partitions: Partitions,
    pub(super) wall_time: Timestamp,
    pub(super) patience: Duration,
}

impl fmt::Debug for TestDriverBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestDriverBuilder")
            .field("app", &self.app)
            .field("seed", &self.seed)
            .field("partitions", &self.partitions.usual)
            .finish_non_exhaustive()
    }
}

/// How many partitions topics have, by their names in the program.
pub(super) struct Partitions {
    pub(super) usual: u32,
    pub(super) special: BTreeMap<Arc<str>, u32>,
}

impl Partitions {
    pub(super) fn of(&self, topic: &str) -> u32 {
        self.special.get(topic).copied().unwrap_or(self.usual)
    }
}

/// 2000-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp::from_millis(946_684_800_000);

impl TestDriverBuilder {
    pub(super) fn new(app: App) -> Self {
        let usual = app.settings.partitions;
        Self {
            app,
            seed: 0,
            partitions: Partitions {
                usual,
                special: BTreeMap::new(),
            },
            wall_time: BEGINNING,
            patience: Duration::from_secs(10),
        }
    }

    /// Decides all that is left to chance, such as the sizes of batches and which task comes first. 0 if
    /// nothing is said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many partitions topics have. If nothing is said, as many as the application's settings say: 1, unless
    /// the program sets it.
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.partitions.usual = partitions;
        self
    }

    /// How many partitions this topic has, when they are not as many as the others'.
    pub fn partitions_of<K: Codec, V: Codec>(mut self, topic: &Topic<K, V>, partitions: u32) -> Self {
        let topic = Arc::from(topic.name());
        self.partitions.special.insert(topic, partitions);
        self
    }

    /// What the wall clock shows in the beginning: 2000-01-01T00:00:00Z if nothing is said.
    pub fn wall_time(mut self, wall_time: Timestamp) -> Self {
        self.wall_time = wall_time;
        self
    }

    /// How long, in real time, handlers may wait for something outside, such as a socket, before the driver gives
    /// up. Ten seconds if nothing is said.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}
