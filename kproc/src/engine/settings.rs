//! What can be set about a task.

use std::time::Duration;

use super::FiredLog;
use crate::policy::{MissingTimestamp, Policies};

/// Settings of a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskSettings {
    /// What happens to a record whose handling fails.
    pub(crate) policies: Policies,
    /// What happens to a record without a timestamp.
    pub(crate) missing_timestamp: MissingTimestamp,
    /// How long an input without records that is not known to have more holds the others back.
    pub(crate) max_task_idle: Duration,
    /// A record whose timestamp is further ahead of wall time than this does not move stream time.
    pub(crate) max_ahead: Option<Duration>,
    /// Where timers that have fired are noted, if somebody wants to know.
    pub(crate) fired: Option<FiredLog>,
}
