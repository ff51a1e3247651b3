//! What is shown of an application: topology, topics, state, log.

use std::fs;

use crate::{assert_fails, err, last_values, out, run};

#[test]
fn what_reads_writes_and_keeps_what() {
    let topology = run(&["topology"], "");
    assert!(topology.status.success());
    for wanted in [
        "application word-count",
        "task 0: one for each partition of lines",
        "processor split",
        "reads   lines (string -> string)",
        "keeps   table counts (string -> u64), changelog word-count-count-counts-changelog",
    ] {
        assert!(
            out(&topology).contains(wanted),
            "{wanted} is not in:\n{}",
            out(&topology)
        );
    }
    let topics = run(&["topics"], "");
    assert!(
        out(&topics).contains("word-count-count-counts-changelog  as words"),
        "{}",
        out(&topics)
    );
    assert!(
        out(&topics).contains("cleanup.policy=compact"),
        "{}",
        out(&topics)
    );
}

#[test]
fn state_can_be_looked_into() {
    let directory = tempfile::tempdir().unwrap();
    let state_dir = directory.path().to_str().unwrap();
    let dump = directory.path().join("counts.jsonl");
    let dump_state = format!("counts={}", dump.display());
    let args = [
        "--embedded",
        // Keeps a file of its own among the directories of processors.
        "--processing",
        "exactly_once",
        "--partitions",
        "2",
        "--state-dir",
        state_dir,
        "--feed",
        "lines=-",
    ];
    let output = run(
        &[&args[..], &["--dump-state", &dump_state]].concat(),
        "apple plum\napple fig\n",
    );
    assert!(output.status.success(), "{}", err(&output));

    let state = |args: &[&str]| run(&[&["state", "--state-dir", state_dir], args].concat(), "");
    let list = state(&["list"]);
    assert!(out(&list).contains("count/counts"), "{}", out(&list));
    assert!(out(&list).contains("table (string -> u64)"), "{}", out(&list));

    let scan = state(&["scan", "counts"]);
    let entries = last_values(out(&scan)).into_iter().collect::<Vec<_>>();
    let expected = [("apple", "2"), ("fig", "1"), ("plum", "1")];
    assert_eq!(
        entries,
        expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    assert_eq!(fs::read_to_string(&dump).unwrap(), out(&scan));
    assert_eq!(
        out(&state(&["scan", "counts", "--limit", "1"])),
        format!("{}\n", out(&scan).lines().next().unwrap())
    );

    let get = state(&["get", "count/counts", "apple"]);
    assert!(out(&get).starts_with("{\"partition\":"), "{}", out(&get));
    assert!(
        out(&get).ends_with(",\"key\":\"apple\",\"value\":2}\n"),
        "{}",
        out(&get)
    );
    assert_eq!(out(&state(&["get", "counts", "\"apple\""])), out(&get));
    assert_fails(
        &state(&["get", "counts", "melon"]),
        1,
        &["store `counts` has nothing under the key \"melon\""],
    );
    assert_fails(
        &state(&["get", "count", "apple"]),
        2,
        &["unknown store `count`; did you mean `counts`?"],
    );
    assert_fails(&state(&[]), 2, &["list", "get", "scan"]);
    let elsewhere = directory.path().join("elsewhere").display().to_string();
    assert_fails(
        &run(&["state", "list", "--state-dir", &elsewhere], ""),
        2,
        &["there is no state in", "--state-dir"],
    );
}

#[test]
fn log_lines_can_be_json_and_never_go_to_standard_output() {
    let args = ["--embedded", "--feed", "lines=-", "--log-format", "json", "-v"];
    let output = run(&args, "apple\n");
    assert!(output.status.success());
    assert_eq!(out(&output), "");
    assert!(!err(&output).is_empty());
    for line in err(&output).lines() {
        let line: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(
            line["level"].is_string() && line["timestamp"].is_string(),
            "{line}"
        );
    }
}
