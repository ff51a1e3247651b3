//! What an instance ends with when it does not end well.

use std::time::Duration;

/// Why an application stopped, or did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Something about topics must be mended first. Nothing was joined or opened.
    #[error("cannot start: {}", list(.0))]
    Check(Vec<String>),
    /// A handler failed, and its policy is to stop.
    #[error("{0}")]
    Task(String),
    /// The cluster failed, or refused something.
    #[error("{what}: {reason}")]
    Cluster {
        /// What was being done.
        what: String,
        /// What the cluster says.
        reason: String,
    },
    /// State cannot be opened, restored or written.
    #[error("task {task}, processor `{processor}`: {reason}")]
    State {
        /// The task.
        task: String,
        /// The processor whose state it is.
        processor: String,
        /// What is wrong.
        reason: String,
    },
    /// kproc itself, or a factory, panicked.
    #[error("{part} panicked: {message}")]
    Panic {
        /// Which part of the instance.
        part: String,
        /// The panic's message.
        message: String,
    },
    /// Something did not end within the stop's deadline and was abandoned.
    #[error("not everything ended within the stop's deadline of {}: {what}; what was not committed is processed again after the next start", humantime::format_duration(*.deadline))]
    Deadline {
        /// The deadline.
        deadline: Duration,
        /// What was abandoned.
        what: String,
    },
    /// The operating system gave no thread.
    #[error("cannot start a thread: {0}")]
    Thread(String),
    /// The instance ended before what was asked of it was done.
    #[error("the application has stopped")]
    Stopped,
}

/// One fault as it is, several as a list.
fn list(faults: &[String]) -> String {
    match faults {
        [fault] => fault.clone(),
        faults => format!("\n  - {}", faults.join("\n  - ")),
    }
}
