//! What a driver's calls fail with.

use std::time::Duration;

use kproc_store::codec::{DecodeError, EncodeError};

use crate::{
    cluster::ClusterError,
    record::{Offset, TopicPartition},
    runtime::RunError,
};

/// A call of a [`TestDriver`](super::TestDriver) that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The application cannot start, or has failed, as it would have in production.
    ///
    /// Every further call tells it again, until the application is started again.
    #[error(transparent)]
    Failed(RunError),
    /// A handler waits for something outside, such as a socket, and virtual time cannot go on without it.
    #[error(
        "a handler has been waiting for {} of real time for something outside the test, and goes on waiting: give \
         the processor a stand-in through its factory, or the driver more `patience`",
        humantime::format_duration(*.0)
    )]
    Waiting(Duration),
    /// The application was stopped by the test.
    #[error("the application is stopped")]
    NotRunning,
    /// The application must be stopped first.
    #[error("the application is running: `stop` it first")]
    Running,
    /// What was to be sent cannot be written.
    #[error("cannot send to topic `{topic}`: {error}")]
    Encode {
        /// The topic.
        topic: String,
        /// What is wrong with the key or value.
        error: EncodeError,
    },
    /// A received record is not what the topic's types say.
    #[error("{place} offset {offset}: cannot read the {part}: {error}")]
    Unreadable {
        /// Where it is.
        place: TopicPartition,
        /// Where it is.
        offset: Offset,
        /// `key` or `value`.
        part: &'static str,
        /// What is wrong with the bytes.
        error: DecodeError,
    },
    /// A received key or value is null, which has no owned form.
    #[error("{place} offset {offset}: the {part} is null; `receive_record` shows it")]
    Null {
        /// Where it is.
        place: TopicPartition,
        /// Where it is.
        offset: Offset,
        /// `key` or `value`.
        part: &'static str,
    },
    /// The operating system refused something: a directory for state, a tokio runtime for handlers.
    #[error("the test driver needs a temporary directory and a tokio runtime: {0}")]
    System(std::io::Error),
    /// The embedded cluster refused.
    #[error("embedded cluster: {0}")]
    Cluster(#[from] ClusterError),
}
