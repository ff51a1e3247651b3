//! What this process has used.

use std::{fs, time::Duration};

use kproc::{Clock, SystemClock};
use rustix::time::{ClockId, clock_gettime};

/// A moment: records, time, CPU time of all threads.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) records: u64,
    pub(crate) time: Duration,
    pub(crate) cpu: Duration,
}

impl Mark {
    pub(crate) fn now(clock: &SystemClock, records: u64) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            records,
            time: clock.now(),
            cpu: Duration::new(cpu.tv_sec as u64, cpu.tv_nsec as u32),
        }
    }
}

/// A line of `/proc/self/status` in KiB: `VmHWM` is the peak of what was resident, `RssAnon` what is now and is
/// no file that is mapped.
pub(crate) fn memory_kib(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(what));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}
