//! Asking programs to end.

use std::{
    process::{Child, Command, ExitStatus},
    thread,
    time::Duration,
};

/// Asks a program to stop, as a service manager does, and waits for it. Not before it is ready to be asked: one that has only
/// just begun would be ended by the system.
pub(crate) fn stop(program: &mut Child) -> ExitStatus {
    while !is_ready(program.id()) {
        if let Some(status) = program.try_wait().unwrap() {
            return status;
        }
        thread::sleep(Duration::from_millis(2));
    }
    let asked = Command::new("kill")
        .args(["-TERM", &program.id().to_string()])
        .status();
    assert!(asked.unwrap().success());
    program.wait().unwrap()
}

/// Whether a process has said what it does when it is asked to stop. Where the system does not tell, it is believed to.
fn is_ready(process: u32) -> bool {
    /// SIGTERM, in a set of signals.
    const ASKED: u64 = 1 << 14;
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else {
        return true;
    };
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|caught| u64::from_str_radix(caught.trim(), 16).ok());
    caught.is_none_or(|caught| caught & ASKED != 0)
}
