//! An environment in a temporary directory, with tables on it.

#![allow(dead_code)]

use std::{path::Path, sync::Arc};

use kproc_store::{
    Buffer, CommitPoint, Condition, Environment, EnvironmentOptions, Marks, Offset, Opened, Store, StoreSpec,
    Table, Timestamp,
    codec::{Codec, KeyCodec},
};

pub const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

pub fn small() -> EnvironmentOptions {
    EnvironmentOptions {
        map_size: 1 << 20,
        ..EnvironmentOptions::default()
    }
}

/// Specs of stores with these names, of bytes by bytes.
pub fn specs(names: &[&'static str]) -> Vec<StoreSpec> {
    let table = Table::<Vec<u8>, Vec<u8>>::default();
    names.iter().map(|&name| table.spec(name.into())).collect()
}

pub fn open(directory: &Path, names: &[&'static str]) -> Opened {
    Environment::open(directory, &specs(names), &small(), NOW).unwrap()
}

/// One table in one environment.
pub struct One<K, V> {
    pub environment: Environment,
    pub table: Table<K, V>,
    pub marks: Arc<Marks>,
    pub condition: Condition,
}

impl<K: KeyCodec, V: Codec> One<K, V> {
    pub fn open(directory: &Path) -> Self {
        Self::open_with(directory, &small())
    }

    pub fn open_with(directory: &Path, options: &EnvironmentOptions) -> Self {
        let mut table = Table::default();
        let spec = table.spec("things".into());
        let opened = Environment::open(directory, &[spec], options, NOW).unwrap();
        let marks = Arc::new(Marks::default());
        table.attach(opened.environment.buffer(0, &marks).unwrap());
        Self {
            environment: opened.environment,
            table,
            marks,
            condition: opened.condition,
        }
    }

    pub fn buffer(&mut self) -> &mut Buffer {
        self.table.buffer().unwrap()
    }

    pub fn commit(&mut self, next: u64) {
        let point = point(next);
        self.environment
            .commit(&mut [(0, self.table.buffer().unwrap())], &point)
            .unwrap();
    }

    pub fn close(mut self) {
        self.table.detach();
        self.environment.close().unwrap();
    }
}

pub fn point(next: u64) -> CommitPoint {
    CommitPoint {
        changelogs: vec![(0, Offset::new(next))],
        committed_at: Some(NOW),
        ..CommitPoint::default()
    }
}
