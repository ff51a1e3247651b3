//! A handler that never returns: the first signal gives it the stop's deadline, the second one ends at once.
//!
//! Has a `main` of its own, for it starts itself: as a program that is stuck.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStderr, Command, ExitCode, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use kproc::prelude::*;

const LINES: Topic<String, String> = Topic::new("lines");

#[processor]
#[derive(Default)]
struct Stuck {}

#[processor]
impl Stuck {
    #[on_message(LINES)]
    fn line(&mut self, _line: &str) {
        eprintln!("stuck");
        loop {
            sleep(Duration::from_secs(1));
        }
    }
}

/// What tells the program that is to be stuck from the one that watches it.
const CHILD: &str = "BE_STUCK";

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        return App::new("stuck").processor::<Stuck>().main();
    }
    if std::env::args().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    a_second_signal_ends_at_once();
    after_the_deadline_it_is_abandoned();
    ExitCode::SUCCESS
}

/// Starts the program, and waits until its handler is at work.
fn start(stop_timeout: &str) -> (Child, BufReader<ChildStderr>) {
    let feed = format!("lines={}", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--embedded", "--feed", &feed, "--stop-timeout", stop_timeout])
        .env(CHILD, "")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    read_until(&mut lines, "stuck");
    (child, lines)
}

/// Everything up to a line that contains `wanted`.
fn read_until(lines: &mut BufReader<ChildStderr>, wanted: &str) {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        assert!(
            lines.read_line(&mut seen).unwrap() > 0,
            "{wanted:?} is not in:\n{seen}"
        );
    }
}

fn interrupt(child: &Child) {
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

fn a_second_signal_ends_at_once() {
    let (mut child, mut lines) = start("1h");
    interrupt(&child);
    read_until(&mut lines, "once more ends the program at once");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[expect(clippy::disallowed_methods, reason = "the program runs in real time")]
fn after_the_deadline_it_is_abandoned() {
    let (mut child, mut lines) = start("300ms");
    let begin = Instant::now();
    interrupt(&child);
    read_until(
        &mut lines,
        "not everything ended within the stop's deadline of 300ms",
    );
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}
