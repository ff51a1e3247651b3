//! librdkafka's log lines, which come in thousands when brokers are away: each kind of line is shown once in a
//! while, and then says how many were left out.

use std::{
    collections::BTreeMap,
    ffi::c_int,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::native::{LogLine, NativeError};
use crate::clock::Clock;

/// How often a line of one kind is shown.
const INTERVAL: Duration = Duration::from_secs(30);

/// How many kinds are told apart at most.
const KINDS: usize = 100;

/// The log of all clients of a cluster, so that they do not tell the same thing several times.
pub(super) struct Log {
    clock: Arc<dyn Clock>,
    seen: Mutex<BTreeMap<String, Seen>>,
}

struct Seen {
    shown: Duration,
    left_out: u64,
}

impl Log {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            seen: Mutex::default(),
        })
    }

    /// Takes the lines of one client.
    pub(super) fn of_client(self: &Arc<Self>) -> LogLine {
        let log = self.clone();
        Box::new(move |level, facility, line| log.line(level, facility, line))
    }

    /// An error of a client that does not end anything.
    pub(super) fn trouble(&self, what: &str, error: &NativeError) {
        if let Some(more) = self.pass(&format!("{what} {}", error.name())) {
            tracing::warn!(target: "kproc::kafka", "{what}: {error}{more}");
        }
    }

    fn line(&self, level: c_int, facility: &str, line: &str) {
        /// Levels are those of syslog.
        const WARNING: c_int = 4;
        // `CONFWARN`: properties of producers given to a consumer and the other way round, for both are given the
        // same. `FATAL`: what ends a client is told by whoever has it, in words of their own.
        if level > WARNING || matches!(facility, "CONFWARN" | "FATAL") {
            tracing::debug!(target: "kproc::kafka", facility, "{line}");
        } else if let Some(more) = self.pass(&kind_of(facility, line)) {
            tracing::warn!(target: "kproc::kafka", facility, "{line}{more}");
        }
    }

    /// Whether a line of this kind is to be shown, and what to say of those that were not.
    fn pass(&self, kind: &str) -> Option<String> {
        let now = self.clock.now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = seen.get_mut(kind) {
            if now.saturating_sub(seen.shown) < INTERVAL {
                seen.left_out += 1;
                return None;
            }
            seen.shown = now;
            let more = std::mem::take(&mut seen.left_out);
            return Some(if more > 0 {
                format!(" (and {more} more of this kind since the last)")
            } else {
                String::new()
            });
        }
        if seen.len() >= KINDS {
            seen.clear();
        }
        let first = Seen {
            shown: now,
            left_out: 0,
        };
        seen.insert(kind.to_owned(), first);
        Some(String::new())
    }
}

/// Lines that differ by numbers only (times, ports, counts) are of one kind.
fn kind_of(facility: &str, line: &str) -> String {
    let letters = line.chars().filter(|char| !char.is_ascii_digit());
    facility.chars().chain([' ']).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{BoxFuture, SystemClock};
    use crate::record::Timestamp;

    struct Hand(Mutex<Duration>);

    impl Clock for Hand {
        fn now(&self) -> Duration {
            *self.0.lock().unwrap()
        }
        fn wall(&self) -> Timestamp {
            Timestamp::EPOCH
        }
        fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
            SystemClock::new().sleep_until(due)
        }
        fn random(&self) -> u64 {
            0
        }
    }

    #[test]
    fn g15_a_minute_without_brokers_is_a_few_lines() {
        let clock = Arc::new(Hand(Mutex::default()));
        let log = Log::new(clock.clone());
        let mut shown = Vec::new();
        for number in 0..6000_u64 {
            *clock.0.lock().unwrap() = Duration::from_millis(number * 10);
            let line = format!("127.0.0.1:{number}/1: connect failed after {number} ms");
            shown.extend(log.pass(&kind_of("FAIL", &line)));
        }
        assert_eq!(shown, ["", " (and 2999 more of this kind since the last)"]);
    }
}
