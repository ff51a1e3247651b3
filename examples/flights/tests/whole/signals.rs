//! Ctrl-C and SIGTERM, and looking into state meanwhile.

use std::{
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Starts the program with little to work with, so that it can be met at work.
fn start(state: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_flights"))
        .args([
            "--embedded",
            "--partitions",
            "1",
            "--threads",
            "1",
            "--commit-interval",
            "20ms",
        ])
        .arg("--state-dir")
        .arg(state)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn state(state: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flights"))
        .arg("state")
        .args(args)
        .arg("--state-dir")
        .arg(state)
        .output()
        .unwrap()
}

/// Waits until the program has committed some state, and returns what it has for an aircraft.
#[expect(clippy::disallowed_methods, reason = "the program runs in real time")]
fn wait_for_state(directory: &Path, child: &mut Child) {
    let begin = Instant::now();
    loop {
        let output = state(directory, &["scan", "hours", "--limit", "3"]);
        if output.stdout.split(|byte| *byte == b'\n').count() == 4 {
            return;
        }
        assert!(
            child.try_wait().unwrap().is_none(),
            "it was done before anybody could look"
        );
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        sleep(Duration::from_millis(1));
    }
}

fn stopped_by(signal: &str, code: i32) {
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(directory.path());
    wait_for_state(directory.path(), &mut child);
    assert!(
        Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{err}");
    assert!(err.contains("stopped before all input was processed"), "{err}");
    assert_eq!(output.stdout, b"");
    // It has stopped in good order: the state is there, and nothing is in doubt.
    let list = state(directory.path(), &["list"]);
    assert!(
        String::from_utf8_lossy(&list.stdout).contains("hourly-delays/hours"),
        "{list:?}"
    );
    assert_eq!(String::from_utf8_lossy(&list.stderr), "");
}

#[test]
fn an_interrupt_stops_it_while_its_state_is_looked_into() {
    stopped_by("-INT", 130);
}

#[test]
fn so_does_a_request_to_terminate() {
    stopped_by("-TERM", 143);
}
