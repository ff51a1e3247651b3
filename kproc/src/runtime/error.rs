//! What an instance ends with when it does not end well.

use std::{path::PathBuf, time::Duration};

use crate::{
    cluster::ClusterError,
    engine::{Failure, Phase},
    error::ErrorKind,
    record::{Offset, TopicPartition},
};

/// Why an application stopped, or did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Something about topics must be mended first. Nothing was joined or opened.
    #[error("cannot start:{}", list(.0))]
    Check(Vec<String>),
    /// A handler failed, and its policy is to stop.
    #[error("{failure}{advice}", failure = .0, advice = advice(.0))]
    Task(TaskFailure),
    /// The cluster failed, or refused something.
    #[error("{what}: {reason}")]
    Cluster {
        /// What was being done.
        what: String,
        /// What the cluster says.
        reason: String,
    },
    /// A topic is gone, or is not what it was.
    #[error("topic `{topic}`: {reason}")]
    Topic {
        /// Its name in the cluster.
        topic: String,
        /// What has happened, and what to do.
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
    /// The state directory cannot be used.
    #[error("state directory, {}: {reason}", .path.display())]
    Directory {
        /// What in it.
        path: PathBuf,
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
    /// A handler does not come back. The instance has left the group, so that others take over; what the handler
    /// does later is neither sent nor committed.
    #[error("{}", stuck(.task.as_deref(), .record.as_ref(), *.worker, .held_up, *.blocks, *.busy))]
    Stuck {
        /// The task; `None`: the worker was in none.
        task: Option<String>,
        /// The record that it is at: topic (by its name in the cluster), partition, offset. `None`: it is no record's
        /// handler.
        record: Option<(TopicPartition, Offset)>,
        /// The worker that has the task.
        worker: usize,
        /// The other tasks that wait for the worker's thread.
        held_up: Vec<String>,
        /// It keeps the thread to itself; if not, it waits (`async`).
        blocks: bool,
        /// For how long it had been at it when that was noticed.
        busy: Duration,
    },
    /// Another process uses the transactional ids of this one, and the two end each other's transactions.
    #[error("another process uses the transactional id `{id}`: {times} times within {within} it has ended transactions of this one. Is the state directory on a clone of another instance's volume, or was it given to two machines? Give each process one of its own (`--state-dir`), or, with this instance stopped, remove the file `.instance` from the application's directory in it; it then takes a new id", within = humantime::format_duration(*.within))]
    Fenced {
        /// The id.
        id: String,
        /// How often that has happened.
        times: usize,
        /// In which time.
        within: Duration,
    },
    /// The operating system gave no thread.
    #[error("cannot start a thread: {0}")]
    Thread(String),
    /// The instance ended before what was asked of it was done.
    #[error("the application has stopped")]
    Stopped,
}

/// The way out where state and topics do not fit each other any more.
pub(super) const BEGIN_ANEW: &str = "begin anew: under another application id, or, with all instances stopped, \
     by the command `reset` (without it: delete the group's committed offsets, the application's changelogs and its state \
     directories)";

/// A handler's failure that has stopped an application.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct TaskFailure {
    /// The processor's name.
    pub processor: String,
    /// The record that it could not process: topic (by its name in the program), partition, offset. `None`: it was
    /// no record's handler that failed.
    pub record: Option<(TopicPartition, Offset)>,
    /// What it came from.
    pub kind: ErrorKind,
    /// The setting that says what such a failure does; `None`: it stops the application in any case.
    pub setting: Option<&'static str>,
    /// All of it in words.
    pub message: String,
}

impl From<&Failure> for TaskFailure {
    fn from(failure: &Failure) -> Self {
        let record = match &failure.phase {
            Phase::Record(partition, offset) => Some((partition.clone(), *offset)),
            _ => None,
        };
        Self {
            processor: failure.processor.to_string(),
            record,
            kind: failure.kind(),
            setting: failure.setting,
            message: failure.to_string(),
        }
    }
}

impl RunError {
    /// The cluster failed at `what`.
    #[cold]
    pub(super) fn cluster(what: impl Into<String>, error: &ClusterError) -> Self {
        Self::Cluster {
            what: what.into(),
            reason: error.to_string(),
        }
    }
}

/// What has not come back, from where, and what to do.
fn stuck(
    task: Option<&str>,
    record: Option<&(TopicPartition, Offset)>,
    worker: usize,
    held_up: &[String],
    blocks: bool,
    busy: Duration,
) -> String {
    let who = task.map_or_else(|| format!("worker {worker}"), |task| format!("task {task}"));
    let place = match (task, record) {
        (_, Some((partition, offset))) => format!("the record at {partition}, offset {offset}"),
        (Some(_), None) => "a timer, `#[on_start]` or the like".to_owned(),
        (None, _) => "what it does between handlers".to_owned(),
    };
    let how = match (blocks, held_up) {
        (false, _) => "waits".to_owned(),
        (true, []) => format!("keeps the thread of worker {worker} to itself"),
        (true, others) => format!(
            "keeps the thread of worker {worker} to itself, so that {} cannot go on",
            others.join(", ")
        ),
    };
    format!(
        "{who} has not come back from {place} for {} and {how}. Bound what handlers wait for, or set `stuck_after` to \
         more than they may take",
        humantime::format_duration(busy)
    )
}

/// The way past a failure, if there is one.
fn advice(failure: &TaskFailure) -> String {
    let what = match failure.record {
        Some(_) => "records",
        None => "failures",
    };
    failure.setting.map_or_else(String::new, |setting| {
        format!("; to pass over such {what}, set `{setting}` to `skip`")
    })
}

/// One fault as it is, several as a list.
fn list(faults: &[String]) -> String {
    match faults {
        [fault] => format!(" {fault}"),
        faults => format!("\n  - {}", faults.join("\n  - ")),
    }
}
