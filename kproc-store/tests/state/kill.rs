//! A process that is killed while it commits leaves exactly one of its commits.

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
use kproc_store::{Condition, EnvironmentOptions};

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
    assert!(known > rounds * 3, "the child hardly worked: {known} commits");
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
