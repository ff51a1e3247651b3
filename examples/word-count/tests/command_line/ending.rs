//! How a run ends, and what it leaves.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use crate::{err, run_with};

#[test]
fn an_interrupt_ends_a_feed_that_waits_for_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_word-count"))
        .args(["--embedded", "--feed", "lines=-", "--dump", "counts=-", "-v"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("feeding")));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    // Its standard input is still open.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(lines.any(|line| line.unwrap().contains("stopped before all input was processed")));
}

#[test]
fn temporary_state_is_gone_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().to_str().unwrap();
    let output = run_with(
        &["--embedded", "--feed", "lines=-"],
        "apple\n",
        &[("TMPDIR", temporary)],
    );
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(files(directory.path()), 0);
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}
