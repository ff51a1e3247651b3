//! An environment in a temporary directory, with tables on it.

use std::{path::Path, sync::Arc};

use kproc_store::{
    Buffer, CommitPoint, Condition, Environment, EnvironmentOptions, Marks, Offset, Store, StoreError,
    StoreSpec, Table, Timestamp,
    codec::{Codec, KeyCodec},
};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

pub(crate) type Bytes = Vec<u8>;

/// Options with a small map.
pub(crate) fn small() -> EnvironmentOptions {
    EnvironmentOptions {
        map_size: 1 << 20,
        ..EnvironmentOptions::default()
    }
}

/// Specs of tables of bytes by bytes.
pub(crate) fn specs(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<StoreSpec> {
    let table = Table::<Bytes, Bytes>::default();
    names
        .into_iter()
        .map(|name| table.spec(name.into().into()))
        .collect()
}

/// A directory for tests that open environments thousands of times: in memory, where there is such a place, since
/// each opening waits for the disk.
pub(crate) fn fast_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// One table in one environment.
pub(crate) struct One<K, V> {
    pub(crate) environment: Environment,
    pub(crate) table: Table<K, V>,
    pub(crate) marks: Arc<Marks>,
    pub(crate) condition: Condition,
}

impl<K: KeyCodec, V: Codec> One<K, V> {
    pub(crate) fn open(directory: &Path) -> Self {
        Self::open_with(directory, &small())
    }

    pub(crate) fn open_with(directory: &Path, options: &EnvironmentOptions) -> Self {
        let mut table = Table::default();
        let spec = table.spec("things".into());
        let opened = Environment::open(directory, &[spec], options).unwrap();
        let marks = Arc::new(Marks::default());
        table.attach(opened.environment.buffer(0, &marks).unwrap());
        Self {
            environment: opened.environment,
            table,
            marks,
            condition: opened.condition,
        }
    }

    pub(crate) fn buffer(&mut self) -> &mut Buffer {
        self.table.buffer().unwrap()
    }

    pub(crate) fn try_commit(&mut self, next: u64) -> Result<(), StoreError> {
        self.environment
            .commit(&mut [(0, self.table.buffer().unwrap())], &point(next))
    }

    pub(crate) fn commit(&mut self, next: u64) {
        self.try_commit(next).unwrap();
    }

    pub(crate) fn commit_at(&mut self, at: Timestamp) {
        let committed_at = Some(at);
        let point = CommitPoint {
            committed_at,
            ..point(21)
        };
        let buffers = &mut [(0, self.table.buffer().unwrap())];
        self.environment.commit(buffers, &point).unwrap();
    }

    pub(crate) fn position(&self) -> Option<u64> {
        self.environment.position(0).unwrap().map(Offset::get)
    }

    pub(crate) fn close(mut self) {
        self.table.detach();
        self.environment.close().unwrap();
    }
}

pub(crate) fn point(next: u64) -> CommitPoint {
    CommitPoint {
        changelogs: vec![(0, Offset::new(next))],
        committed_at: Some(NOW),
        ..CommitPoint::default()
    }
}

/// Makes a state one that was kept before sidecars told which file they speak of, and of which moment of it: for files that are
/// replaced.
pub(crate) fn vouch_for_any_file(directory: &Path) {
    let path = directory.join("state.json");
    let mut told: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for which in ["data", "itself", "transaction"] {
        told[which] = serde_json::Value::Null;
    }
    std::fs::write(&path, told.to_string()).unwrap();
}

/// Repeatable random numbers (`SplitMix64`).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
