//! What happens when a record cannot be processed.

use std::time::Duration;

/// What happens to a record whose handling fails. Everything that the handler sent and stored is undone first; what it
/// did to plain fields is not.
///
/// Each kind of failure has a setting of its own:
///
/// ```
/// # use kproc::{App, Policy, Retry};
/// # use std::time::Duration;
/// let app = App::new("shop").configure(|settings| {
///     settings.on_deserialization_error = Policy::Skip;
///     settings.on_processing_error = Policy::Retry(Retry {
///         attempts: 3,
///         backoff: Duration::from_millis(50),
///         ..Retry::default()
///     });
/// });
/// # drop(app);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// The application stops; what was done before the record is committed. It comes to the same record, timer or advance
    /// of stream time again when it starts again. (A timer of the wall clock is due a period later then.)
    #[default]
    Stop,
    /// The record, or the timer's turn, is counted, logged, and passed over.
    Skip,
    /// The record, or the timer's turn, is tried again after a while.
    Retry(Retry),
}

/// How a record is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// How many times it is tried again at most.
    pub attempts: u32,
    /// How long to wait before the first time; each further wait is twice as long.
    pub backoff: Duration,
    /// The longest wait.
    pub max_backoff: Duration,
    /// What happens when no attempt has helped: `false` stops the application, `true` skips the record.
    pub then_skip: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(10),
            then_skip: false,
        }
    }
}

impl Retry {
    /// How long to wait before attempt number `attempt`, the first of which is 1.
    pub(crate) fn wait(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        self.backoff.saturating_mul(factor).min(self.max_backoff)
    }
}

/// A policy for each kind of failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Policies {
    /// The record's key or value is not what the handler takes.
    pub(crate) deserialization: Policy,
    /// The handler returned an error.
    pub(crate) processing: Policy,
    /// The handler panicked. The processor may be in any condition then, so it is made anew before the record is
    /// skipped or tried again, once what was done before is committed.
    pub(crate) panic: Policy,
}

/// What happens to a record without a timestamp (Kafka: -1), or with a negative one. It never moves stream time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MissingTimestamp {
    /// The application stops. The default, as in Kafka Streams.
    #[default]
    Fail,
    /// The record is counted, logged, and passed over.
    Skip,
    /// The record takes the task's stream time, and has no timestamp if that is not known yet.
    StreamTime,
    /// The record takes the present wall time.
    WallClock,
}
