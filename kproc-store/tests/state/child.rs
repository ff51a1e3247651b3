//! Tests that need a second process: the test runs itself again, in a role.
//!
//! ```text
//! if let Some(directory) = child::role("name_of_the_test") { …the child's part…; return }
//! let child = child::command("module::name_of_the_test", &directory).spawn()
//! ```

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const ROLE: &str = "KPROC_STORE_TEST_CHILD_DIRECTORY";

/// The directory to work in, if this process is the child of a test.
pub(crate) fn role() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// A process that runs that test, as a child. It speaks on standard error; standard output is the test harness's.
pub(crate) fn command(test: &str, directory: &Path) -> Command {
    // Some are to abort, and need not leave a core dump.
    shell(test, directory, "ulimit -c 0")
}

/// The same, after a shell has set something up, such as limits.
pub(crate) fn shell(test: &str, directory: &Path, setup: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{setup} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, directory)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Runs it to its end, and expects it to end well. Returns what it said.
pub(crate) fn run(mut command: Command) -> String {
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "the child ended with {}:\n{said}",
        output.status
    );
    said
}

/// Says a line to the parent.
pub(crate) fn say(line: impl std::fmt::Display) {
    eprintln!("{line}");
}
