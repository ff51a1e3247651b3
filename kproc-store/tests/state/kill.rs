//! A process that is killed while it commits leaves exactly one of its commits; after one of the very large ones, what
//! the changelog turns into exactly one of them.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    thread,
    time::Duration,
};

use crate::{
    child,
    common::{Bytes, One, Random, small},
};
use kproc_store::{Condition, EnvironmentOptions, Offset, Store};

type Map = BTreeMap<u64, Bytes>;

/// What commit number `commit` does: keys and their values.
fn changes(commit: u64) -> impl Iterator<Item = (u64, Option<Bytes>)> {
    let mut random = Random(commit);
    (0..=commit % 300).map(move |_| {
        let key = random.below(2000);
        let length = if random.below(50) == 0 {
            8000
        } else {
            random.below(120)
        } as usize;
        (key, (random.below(5) > 0).then(|| vec![commit as u8; length]))
    })
}

fn work(directory: &Path, options: &EnvironmentOptions) {
    let mut one = One::<u64, Bytes>::open_with(directory, options);
    let first = one.position().map_or(1, |position| position + 1);
    for commit in first.. {
        for (key, value) in changes(commit) {
            match value {
                Some(value) => one.table.put(&key, &value).unwrap(),
                None => one.table.delete(&key).unwrap(),
            }
        }
        one.commit(commit);
        child::say(commit);
    }
}

fn check(test: &str, options: &EnvironmentOptions, rounds: u64) {
    if let Some(directory) = child::role() {
        return work(&directory, options);
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut model, mut known) = (Map::new(), 0);
    let mut random = Random(rounds);
    for round in 0..rounds {
        let mut child = child::command(test, directory.path()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut acknowledged: u64 = said.next().unwrap().unwrap().parse().unwrap();
        // Not waiting for anything: the child is to die at any moment of its work.
        thread::sleep(Duration::from_micros(random.below(60_000)));
        child.kill().unwrap();
        for line in said.map_while(Result::ok) {
            // The last line may have been cut off.
            acknowledged = line
                .parse()
                .ok()
                .filter(|n| *n > acknowledged)
                .unwrap_or(acknowledged);
        }
        child.wait().unwrap();

        let one = One::<u64, Bytes>::open_with(directory.path(), options);
        assert_eq!(one.condition, Condition::Intact);
        let found = one.position().unwrap();
        assert!(
            (acknowledged..=acknowledged + 1).contains(&found),
            "round {round}: acknowledged {acknowledged}, found {found}"
        );
        for commit in known + 1..=found {
            for (key, value) in changes(commit) {
                match value {
                    Some(value) => drop(model.insert(key, value)),
                    None => drop(model.remove(&key)),
                }
            }
        }
        known = found;
        let state = one.table.iter().map(Result::unwrap);
        assert!(
            state.eq(model.iter().map(|(key, value)| (*key, &value[..]))),
            "round {round}: commit {found}"
        );
    }
    assert!(known >= rounds, "each child commits at least once");
}

#[test]
fn kill_9_leaves_the_last_acknowledged_commit_or_the_one_in_flight() {
    check(
        "kill::kill_9_leaves_the_last_acknowledged_commit_or_the_one_in_flight",
        &small(),
        40,
    );
}

#[test]
fn kill_9_with_checksums_and_synced_commits() {
    let options = EnvironmentOptions {
        checksum: true,
        sync: true,
        ..small()
    };
    check("kill::kill_9_with_checksums_and_synced_commits", &options, 5);
}

/// More entries than fit a transaction. Each commit changes half of the keys that the one before has.
fn large_changes(commit: u64) -> impl Iterator<Item = (u64, Option<Bytes>)> {
    (0..25_000).map(move |n| {
        (
            commit % 4 * 12_500 + n,
            (n % 7 > 0).then(|| vec![commit as u8; 20]),
        )
    })
}

#[test]
fn kill_9_within_a_commit_of_several_transactions_leaves_what_the_changelog_mends() {
    const TEST: &str = "kill::kill_9_within_a_commit_of_several_transactions_leaves_what_the_changelog_mends";
    if let Some(directory) = child::role() {
        let mut one = One::<u64, Bytes>::open(&directory);
        let commit = one.position().map_or(1, |position| position + 1);
        for (key, value) in large_changes(commit) {
            match value {
                Some(value) => one.table.put(&key, &value).unwrap(),
                None => one.table.delete(&key).unwrap(),
            }
        }
        // From here on the changelog has all of it.
        child::say("accepted");
        one.commit(commit);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut model, mut known, mut torn) = (Map::new(), 0, 0);
    let mut random = Random(1);
    // How long a commit takes here, in microseconds: found out by and by.
    let mut takes = 10_000;
    for round in 0..40_u64 {
        let mut child = child::command(TEST, directory.path()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .next()
            .unwrap()
            .unwrap();
        assert_eq!(said, "accepted");
        thread::sleep(Duration::from_micros(random.below(2 * takes)));
        child.kill().unwrap();
        child.wait().unwrap();

        let mut one = One::<u64, Bytes>::open(directory.path());
        assert_eq!(one.condition, Condition::Intact);
        let found = one.position().unwrap_or(0);
        assert!(
            (known..=known + 1).contains(&found),
            "round {round}: {found} after {known}"
        );
        let state: Map = one
            .table
            .iter()
            .map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap())
            .collect();
        torn += u32::from(found == known && state != model);
        let commit = known + 1;
        let changes: Vec<_> = large_changes(commit)
            .map(|(key, value)| (key.to_be_bytes(), value))
            .collect();
        for (key, value) in large_changes(commit) {
            match value {
                Some(value) => drop(model.insert(key, value)),
                None => drop(model.remove(&key)),
            }
        }
        takes = if found == known {
            takes + takes / 4
        } else {
            takes - takes / 4
        };
        if found == known {
            one.table.detach();
            let mut entries = changes.iter().map(|(key, value)| (&key[..], value.as_deref()));
            one.environment
                .restore(0, &mut entries, Offset::new(commit))
                .unwrap();
            let buffer = one.environment.buffer(0, &one.marks).unwrap();
            one.table.attach(buffer);
        }
        let state = one.table.iter().map(Result::unwrap);
        assert!(
            state.eq(model.iter().map(|(key, value)| (*key, &value[..]))),
            "round {round}: commit {commit}"
        );
        known = commit;
    }
    assert!(
        torn > 0,
        "no child was killed between two transactions: this tests nothing"
    );
}
