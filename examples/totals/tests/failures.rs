//! A record that cannot be processed ends the program with its place and a failure, unless the policy says otherwise.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

/// The second record has no key, which `add` does not take.
const INPUT: &str = "{\"key\":\"plum\",\"value\":2}\n{\"value\":5}\n{\"key\":\"plum\",\"value\":3}\n";

fn run(args: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_totals"))
        .args([
            "run",
            "--embedded",
            "--feed-format",
            "jsonl",
            "--feed",
            "words=-",
            "--dump",
            "totals=-",
        ])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(INPUT.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn g11_a_failed_task_is_a_failed_program() {
    let output = run(&[]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert_eq!(output.stdout, b"");
    for wanted in ["totals: processor `totals`", "words[0]", "offset 1", "null"] {
        assert!(err.contains(wanted), "{wanted} is not in:\n{err}");
    }
}

#[test]
fn b09_a_policy_passes_it_over() {
    let output = run(&["--on-deserialization-error", "skip"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("\"key\":\"plum\",\"value\":5}"), "{out}");
    assert_eq!(
        out.lines().count(),
        1,
        "wall-clock timers fire once at the end: {out}"
    );
    assert!(
        err.contains("offset"),
        "a skipped record is logged with its place: {err}"
    );
}
