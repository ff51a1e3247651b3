//! Random sequences of all verbs against a `BTreeMap`, with undos, commits, fall-backs and reopenings between.

use std::{collections::BTreeMap, path::Path};

use kproc_store::{Condition, Environment, Offset, Store};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};

use crate::common::{Bytes, One, fast_directory, small, specs};

type Map = BTreeMap<Bytes, Bytes>;
type Changelog = Vec<(Bytes, Option<Bytes>)>;

#[derive(Debug, Clone)]
enum Step {
    Put(Bytes, Bytes),
    Delete(Bytes),
    /// Lengthens the value by `entry`.
    Extend(Bytes, u8),
    /// Looks by `entry`, changes nothing.
    Look(Bytes),
    /// Shortens the value by `update`, and deletes it when it is short.
    Shorten(Bytes),
    /// Keeps values whose length is a multiple.
    Retain(usize),
    Range(Bytes, Bytes),
    Prefix(Bytes),
    Begin,
    Undo,
    Commit,
    FallBack,
    Reopen,
    Crash,
}

fn key() -> impl Strategy<Value = Bytes> {
    let length = prop_oneof![4 => 1..3_usize, 1 => Just(511_usize)];
    length
        .prop_flat_map(|length| (Just(length), 0..4_u8, 0..4_u8))
        .prop_map(|(length, first, last)| {
            let mut key = vec![first; length];
            key[length - 1] = last.wrapping_sub(1);
            key
        })
}

fn value() -> impl Strategy<Value = Bytes> {
    let length = prop_oneof![6 => 0..20_usize, 2 => 100..600_usize, 1 => 3000..9000_usize];
    (length, any::<u8>()).prop_map(|(length, byte)| vec![byte; length])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (key(), value()).prop_map(|(key, value)| Step::Put(key, value)),
        5 => key().prop_map(Step::Delete),
        6 => (key(), any::<u8>()).prop_map(|(key, byte)| Step::Extend(key, byte)),
        2 => key().prop_map(Step::Look),
        3 => key().prop_map(Step::Shorten),
        1 => (1..4_usize).prop_map(Step::Retain),
        3 => (key(), key()).prop_map(|(first, last)| Step::Range(first, last)),
        2 => key().prop_map(Step::Prefix),
        8 => Just(Step::Begin),
        4 => Just(Step::Undo),
        3 => Just(Step::Commit),
        1 => Just(Step::FallBack),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
    ]
}

/// A table and what it should hold.
struct Both {
    one: One<Bytes, Bytes>,
    /// What it holds.
    now: Map,
    /// What it held when the record began.
    at_begin: Map,
    /// What it held at the last commit.
    committed: Map,
    commits: u64,
    changelog: Changelog,
}

impl Both {
    fn open(directory: &Path) -> Self {
        Self {
            one: One::open(directory),
            now: Map::new(),
            at_begin: Map::new(),
            committed: Map::new(),
            commits: 0,
            changelog: Vec::new(),
        }
    }

    fn apply(&mut self, directory: &Path, step: Step) {
        let table = &mut self.one.table;
        match step {
            Step::Put(key, value) => {
                table.put(&key, &value).unwrap();
                self.now.insert(key, value);
            }
            Step::Delete(key) => {
                table.delete(&key).unwrap();
                self.now.remove(&key);
            }
            Step::Extend(key, byte) => {
                table.entry(&key).unwrap().or_default().push(byte);
                self.now.entry(key).or_default().push(byte);
            }
            Step::Look(key) => {
                assert_eq!(table.entry(&key).unwrap().get(), self.now.get(&key));
                assert_eq!(table.get(&key).unwrap(), self.now.get(&key).map(Vec::as_slice));
            }
            Step::Shorten(key) => {
                let shorten = |value: Bytes| (value.len() > 3).then(|| value[3..].to_vec());
                table.update(&key, |value| value.and_then(shorten)).unwrap();
                if let Some(shorter) = self.now.remove(&key).and_then(shorten) {
                    self.now.insert(key, shorter);
                }
            }
            Step::Retain(multiple) => {
                table.retain(|_, value| value.len() % multiple == 0).unwrap();
                self.now.retain(|_, value| value.len() % multiple == 0);
            }
            Step::Range(first, last) => {
                let entries = table.range(first.clone()..last.clone()).map(Result::unwrap);
                if first <= last {
                    let expected = self.now.range(first..last).map(|(k, v)| (&k[..], &v[..]));
                    assert!(entries.eq(expected));
                } else {
                    assert_eq!(entries.count(), 0);
                }
            }
            Step::Prefix(prefix) => {
                let entries = table.prefix(&prefix).map(Result::unwrap);
                let all = self.now.iter().filter(|(key, _)| key.starts_with(&prefix));
                assert!(entries.eq(all.map(|(k, v)| (&k[..], &v[..]))));
            }
            Step::Begin => {
                self.one.marks.begin();
                self.at_begin = self.now.clone();
            }
            Step::Undo => {
                self.one.buffer().undo();
                self.now = self.at_begin.clone();
            }
            Step::Commit => self.commit(),
            Step::FallBack => {
                self.one.buffer().discard();
                self.fall_back();
            }
            Step::Reopen => {
                self.commit();
                self.reopen(directory, One::close);
            }
            Step::Crash => {
                self.reopen(directory, drop);
                self.fall_back();
            }
        }
    }

    fn fall_back(&mut self) {
        self.now = self.committed.clone();
        self.at_begin = self.committed.clone();
    }

    fn commit(&mut self) {
        let length = self.changelog.len();
        let changelog = &mut self.changelog;
        self.one
            .buffer()
            .dirty(&mut |key, value| changelog.push((key.to_vec(), value.map(<[u8]>::to_vec))));
        let new = &self.changelog[length..];
        assert!(new.is_sorted_by(|a, b| a.0 < b.0), "one record per key, in order");
        assert_eq!(new.len(), self.one.buffer().dirty_len());
        assert_eq!(new.is_empty(), !self.one.buffer().is_dirty());
        replay(&mut self.committed, new);
        assert_eq!(
            self.committed, self.now,
            "the changelog makes the committed state"
        );
        self.commits += 1;
        self.one.commit(self.commits);
        self.at_begin = self.now.clone();
        self.check();
    }

    fn reopen(&mut self, directory: &Path, close: fn(One<Bytes, Bytes>)) {
        // Open another environment meanwhile, so that there is something to swap with.
        let aside = fast_directory();
        close(std::mem::replace(&mut self.one, One::open(aside.path())));
        self.one = One::open(directory);
        let expected = if self.commits == 0 {
            None
        } else {
            Some(self.commits)
        };
        assert_eq!(self.one.condition, Condition::Intact);
        assert_eq!(self.one.position(), expected);
    }

    fn check(&self) {
        let table = &self.one.table;
        assert!(
            table
                .iter()
                .map(Result::unwrap)
                .eq(self.now.iter().map(|(k, v)| (&k[..], &v[..])))
        );
        assert_eq!(table.len().unwrap(), self.now.len());
        assert_eq!(table.is_empty().unwrap(), self.now.is_empty());
        for (key, value) in &self.now {
            assert_eq!(table.get(key).unwrap(), Some(&value[..]));
        }
    }
}

fn replay(state: &mut Map, changelog: &[(Bytes, Option<Bytes>)]) {
    for (key, value) in changelog {
        match value {
            Some(value) => drop(state.insert(key.clone(), value.clone())),
            None => drop(state.remove(key)),
        }
    }
}

/// Restores the changelog, in pieces, and expects the same state.
fn check_restore(both: &mut Both, pieces: usize) {
    let directory = fast_directory();
    let environment = Environment::open(directory.path(), &specs(["things"]), &small())
        .unwrap()
        .environment;
    for (n, piece) in both.changelog.chunks(pieces).enumerate() {
        let mut entries = piece.iter().map(|(key, value)| (&key[..], value.as_deref()));
        environment
            .restore(0, &mut entries, Offset::new(n as u64 + 1))
            .unwrap();
        assert_eq!(environment.position(0).unwrap(), Some(Offset::new(n as u64 + 1)));
    }
    both.one.table.detach();
    let marks = both.one.marks.clone();
    both.one.table.attach(environment.buffer(0, &marks).unwrap());
    both.now = both.committed.clone();
    both.check();
    both.one.table.detach();
}

#[test]
fn a_table_is_a_map() {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..Default::default()
    });
    runner
        .run(&(vec(step(), 1..60), 1..20_usize), |(steps, pieces)| {
            let directory = fast_directory();
            let mut both = Both::open(directory.path());
            for step in steps {
                both.apply(directory.path(), step);
                both.check();
            }
            check_restore(&mut both, pieces);
            Ok(())
        })
        .unwrap();
}
