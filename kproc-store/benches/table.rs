//! What a table's verbs cost. Each number is for one record: `Marks::begin`, then the verb.

use std::{hint::black_box, sync::Arc};

use divan::{Bencher, counter::ItemsCount};
use kproc_store::{CommitPoint, Environment, EnvironmentOptions, Marks, Offset, Store, Table};

fn main() {
    divan::main();
}

/// Records per sample: one call is too short to be timed.
const RECORDS: usize = 10_000;

struct Bench {
    table: Table<String, i64>,
    marks: Arc<Marks>,
    keys: Vec<String>,
    environment: Environment,
    _directory: tempfile::TempDir,
}

impl Bench {
    /// A table with this many keys, in LMDB.
    fn cold(keys: usize) -> Self {
        Self::with(keys, &EnvironmentOptions::default())
    }

    fn with(keys: usize, options: &EnvironmentOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut table = Table::default();
        let spec = table.spec("counts".into());
        let environment = Environment::open(directory.path(), &[spec], options)
            .unwrap()
            .environment;
        let marks = Arc::new(Marks::default());
        table.attach(environment.buffer(0, &marks).unwrap());
        // A prime stride, so that neighbours in time are not neighbours in the tree.
        let keys = (0..keys).map(|n| format!("key-{:07}", n * 7919 % keys)).collect();
        let mut bench = Self {
            table,
            marks,
            keys,
            environment,
            _directory: directory,
        };
        bench.fill();
        bench.commit();
        bench
    }

    /// The same, with every key in the overlay.
    fn warm(keys: usize) -> Self {
        let mut bench = Self::cold(keys);
        bench.fill();
        bench
    }

    fn fill(&mut self) {
        for key in &self.keys {
            self.table.put(key, &1).unwrap();
        }
    }

    fn commit(&mut self) {
        let buffers = &mut [(0, self.table.buffer().unwrap())];
        self.environment.commit(buffers, &CommitPoint::default()).unwrap();
    }

    fn records(&mut self, mut each: impl FnMut(&mut Table<String, i64>, &str)) {
        for key in self.keys.iter().cycle().take(RECORDS) {
            self.marks.begin();
            each(&mut self.table, key);
        }
    }
}

#[divan::bench(args = [1_000, 100_000])]
fn warm_get(bencher: Bencher<'_, '_>, keys: usize) {
    let mut bench = Bench::warm(keys);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        bench.records(|table, key| {
            black_box(table.get(key).unwrap());
        });
    });
}

#[divan::bench(args = [1_000, 100_000])]
fn warm_get_put(bencher: Bencher<'_, '_>, keys: usize) {
    let mut bench = Bench::warm(keys);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        bench.records(|table, key| {
            let n = table.get(key).unwrap().unwrap_or_default();
            table.put(key, &(n + 1)).unwrap();
        });
    });
}

#[divan::bench(args = [1_000, 100_000])]
fn warm_entry(bencher: Bencher<'_, '_>, keys: usize) {
    let mut bench = Bench::warm(keys);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        bench.records(|table, key| *table.entry(key).unwrap().or_default() += 1);
    });
}

#[divan::bench(args = [1_000, 100_000])]
fn cold_get(bencher: Bencher<'_, '_>, keys: usize) {
    let mut bench = Bench::cold(keys);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        bench.records(|table, key| {
            black_box(table.get(key).unwrap());
        });
    });
}

/// Each record adds to a key that the overlay does not have yet; includes the commit.
#[divan::bench(args = [10_000, 100_000], consts = [false, true])]
fn cold_entry_and_commit<const CHECKSUM: bool>(bencher: Bencher<'_, '_>, keys: usize) {
    let options = EnvironmentOptions {
        checksum: CHECKSUM,
        ..EnvironmentOptions::default()
    };
    let mut bench = Bench::with(keys, &options);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        bench.records(|table, key| *table.entry(key).unwrap().or_default() += 1);
        bench.keys.rotate_left(RECORDS);
        bench.commit();
    });
}

/// A changelog of a million records, each with another key, in no order; per record.
#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 3)]
fn restore_a_million(bencher: Bencher<'_, '_>, batch: usize) {
    const ALL: u64 = 1_000_000;
    let spec = Table::<u64, i64>::default().spec("counts".into());
    let keys: Vec<_> = (0..ALL).map(|n| (n * 7_919 % ALL).to_be_bytes()).collect();
    bencher
        .counter(ItemsCount::new(keys.len()))
        .with_inputs(|| {
            let directory = tempfile::tempdir().unwrap();
            let options = EnvironmentOptions::default();
            let spec = std::slice::from_ref(&spec);
            let opened = Environment::open(directory.path(), spec, &options).unwrap();
            (opened.environment, directory)
        })
        .bench_local_refs(|(environment, _)| {
            for (n, piece) in keys.chunks(batch).enumerate() {
                let mut entries = piece.iter().map(|key| (&key[..], Some(&key[..])));
                environment
                    .restore(0, &mut entries, Offset::new(n as u64))
                    .unwrap();
            }
        });
}

/// A scan, per entry.
#[divan::bench(args = [false, true])]
fn iterate_100_000(bencher: Bencher<'_, '_>, warm: bool) {
    let bench = if warm {
        Bench::warm(100_000)
    } else {
        Bench::cold(100_000)
    };
    bencher
        .counter(ItemsCount::new(100_000_usize))
        .bench_local(|| bench.table.iter().map(|entry| entry.unwrap().1).sum::<i64>());
}
