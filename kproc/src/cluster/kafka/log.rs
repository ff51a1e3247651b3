//! What librdkafka has to say of its own accord: its log lines, which come in thousands when brokers are away, its
//! statistics, and its demand for tokens.
//!
//! Each kind of line is shown once in a while, and then says how many were left out. No line has a secret of the
//! settings in it.

use std::{
    collections::BTreeMap,
    ffi::c_int,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{
    native::{Listener, NativeError},
    statistics,
    token::TokenProvider,
};
use crate::{
    clock::Clock,
    config::{Properties, is_secret},
};

/// How often a line of one kind is shown.
const INTERVAL: Duration = Duration::from_secs(30);

/// How many kinds are told apart at most.
const KINDS: usize = 100;

/// The log of all clients of a cluster, so that they do not tell the same thing several times.
pub(super) struct Log {
    clock: Arc<dyn Clock>,
    seen: Mutex<BTreeMap<String, Seen>>,
    /// What is never shown. librdkafka does not show these either, as far as we know.
    secrets: Vec<String>,
    tokens: Option<TokenProvider>,
}

/// What is shorter is in many a word.
const SHORTEST_SECRET: usize = 4;

struct Seen {
    shown: Duration,
    left_out: u64,
}

impl Log {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        properties: &Properties,
        tokens: Option<TokenProvider>,
    ) -> Arc<Self> {
        let secrets = properties.iter().filter(|(name, _)| is_secret(name));
        Arc::new(Self {
            clock,
            seen: Mutex::default(),
            secrets: secrets
                .map(|(_, value)| value.to_owned())
                .filter(|value| value.len() >= SHORTEST_SECRET)
                .collect(),
            tokens,
        })
    }

    /// A text without the secrets of the settings.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| text.replace(&**secret, "<secret>");
        self.secrets.iter().fold(text.to_owned(), hide)
    }

    /// An error of a client that does not end anything.
    pub(super) fn trouble(&self, what: &str, error: &NativeError) {
        if let Some(more) = self.pass(&format!("{what} {}", error.name())) {
            let error = self.without_secrets(&error.to_string());
            tracing::warn!(target: "kproc::kafka", "{what}: {error}{more}");
        }
    }

    /// A client that would not have gone on by itself was helped.
    pub(super) fn helped(&self, client: &str, why: &str) {
        if let Some(more) = self.pass(why) {
            tracing::warn!(target: "kproc::kafka", client, "{why}{more}");
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

impl Listener for Log {
    fn line(&self, level: c_int, facility: &str, line: &str) {
        /// Levels are those of syslog.
        const ERROR: c_int = 3;
        const WARNING: c_int = 4;
        const INFO: c_int = 6;
        let line = self.without_secrets(line);
        // `CONFWARN`: properties of producers given to a consumer and the other way round, for both are given the
        // same. `FATAL`: what ends a client is told by whoever has it, in words of their own. What is on the way to
        // an end is of no interest.
        if level > INFO {
            tracing::trace!(target: "kproc::kafka", facility, "{line}");
        } else if level > WARNING || matches!(facility, "CONFWARN" | "FATAL") {
            tracing::debug!(target: "kproc::kafka", facility, "{line}");
        } else if let Some(more) = self.pass(&kind_of(facility, &line)) {
            if level < ERROR {
                tracing::error!(target: "kproc::kafka", facility, "{line}{more}");
            } else {
                // librdkafka calls "error" what it gets over by itself.
                tracing::warn!(target: "kproc::kafka", facility, "{line}{more}");
            }
        }
    }

    fn error(&self, error: &NativeError) {
        if error.is_missing_token() {
            return self.trouble("client", error);
        }
        // It was a line of the log before.
        tracing::debug!(target: "kproc::kafka", "{}", self.without_secrets(&error.to_string()));
    }

    fn statistics(&self, json: &str) {
        statistics::tell(json);
    }

    fn tokens(&self) -> Option<&TokenProvider> {
        self.tokens.as_ref()
    }
}

/// Lines that differ by numbers only (times, ports, counts) are of one kind.
fn kind_of(facility: &str, line: &str) -> String {
    let letters = line.chars().filter(|char| !char.is_ascii_digit());
    facility.chars().chain([' ']).chain(letters).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use std::io;

    use super::{super::native::Code, *};
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
        let log = Log::new(clock.clone(), &Properties::default(), None);
        let mut shown = Vec::new();
        for number in 0..6000_u64 {
            *clock.0.lock().unwrap() = Duration::from_millis(number * 10);
            let line = format!("127.0.0.1:{number}/1: connect failed after {number} ms");
            shown.extend(log.pass(&kind_of("FAIL", &line)));
        }
        assert_eq!(shown, ["", " (and 2999 more of this kind since the last)"]);
    }

    #[test]
    fn h03_lines_have_no_secrets() {
        let mut properties = Properties::default();
        properties.set("sasl.password", "hunter2");
        let log = Log::new(Arc::new(SystemClock::new()), &properties, None);
        let text = capture(tracing::Level::TRACE, || {
            for level in 0..8 {
                log.line(level, "CONF", "sasl.password = hunter2");
            }
            log.error(&NativeError::with(
                Code::RD_KAFKA_RESP_ERR__FAIL,
                "hunter2?".into(),
            ));
            log.trouble(
                "x",
                &NativeError::with(Code::RD_KAFKA_RESP_ERR__FAIL, "hunter2!".into()),
            );
        });
        // Of the five at level warning and above one is enough.
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains("= <secret>") && !text.contains("hunter2"), "{text}");
    }

    /// What is told from this level on.
    pub(in super::super) fn capture(level: tracing::Level, act: impl FnOnce()) -> String {
        #[derive(Clone, Default)]
        struct Lines(Arc<Mutex<Vec<u8>>>);
        impl io::Write for Lines {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().extend(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, act);
        let bytes = lines.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }
}
