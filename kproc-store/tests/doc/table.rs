// A table for doctests, open in a directory that goes with it.

use std::sync::Arc;

use kproc_store::{
    Environment, EnvironmentOptions, Marks, Store, Table, Timestamp,
    codec::{Codec, KeyCodec},
};

pub fn table<K: KeyCodec, V: Codec>() -> (Table<K, V>, impl Sized) {
    let directory = tempfile::tempdir().unwrap();
    let mut table = Table::default();
    let spec = table.spec("things".into());
    let options = EnvironmentOptions::default();
    let opened = Environment::open(directory.path(), &[spec], &options).unwrap();
    table.attach(opened.environment.buffer(0, &Arc::new(Marks::default())).unwrap());
    (table, (opened.environment, directory))
}
