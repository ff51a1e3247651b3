//! The program's dumps equal the batch answers, however many partitions and threads it has.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use crate::batch::{aircraft_totals, assert_same, flights_without_aircraft, hourly_delays};
use serde::{Deserialize, de::DeserializeOwned};

#[derive(Deserialize)]
struct Line<K, V> {
    key: K,
    value: V,
}

/// The last value of each key in a dump.
fn last_values<K: DeserializeOwned + Ord, V: DeserializeOwned>(dump: &Path) -> BTreeMap<K, V> {
    let text = fs::read_to_string(dump).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.map(|Line { key, value }| (key, value)).collect()
}

/// Runs the program and compares what it dumps.
fn check(partitions: &str, threads: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let dump = |name: &str| format!("{name}={}", path(name).display());
    let output = Command::new(env!("CARGO_BIN_EXE_flights"))
        .args(["--partitions", partitions, "--threads", threads])
        .args(["--dump", &dump("hourly-delays")])
        .args(["--dump", &dump("aircraft-totals")])
        .args(["--dump-state", &dump("without_aircraft")])
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{err}");
    assert_same(&last_values(&path("hourly-delays")), &hourly_delays());
    assert_same(&last_values(&path("aircraft-totals")), &aircraft_totals());
    assert_same(
        &last_values(&path("without_aircraft")),
        &flights_without_aircraft(),
    );
    // The summary, with figures that are in the answers, too.
    assert!(
        out.contains("LGA 2013-04-19T23:00:00Z   3546 min in all"),
        "{out}"
    );
    assert!(out.contains("N725MQ"), "{out}");
    // Flights are read once by their airport, and those with a tail number again; and planes once.
    assert!(
        out.contains("19486 hours and 4037 aircraft. 674362 records"),
        "{out}"
    );
}

#[test]
fn one_partition_one_thread() {
    check("1", "1");
}

#[test]
fn one_partition_two_threads() {
    check("1", "2");
}

#[test]
fn one_partition_four_threads() {
    check("1", "4");
}

#[test]
fn four_partitions_one_thread() {
    check("4", "1");
}

#[test]
fn four_partitions_two_threads() {
    check("4", "2");
}

#[test]
fn four_partitions_four_threads() {
    check("4", "4");
}
