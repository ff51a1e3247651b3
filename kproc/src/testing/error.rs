//! What a driver's calls fail with.

use kproc_store::codec::{DecodeError, EncodeError};

use crate::record::{Offset, TopicPartition};

/// A call of a test driver that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The application cannot start: its topology or its settings are wrong.
    #[error("the application cannot start: {0}")]
    Start(String),
    /// A task or the whole instance has failed, as it would have in production.
    ///
    /// Every further call tells it again, until the application is started again.
    #[error("{0}")]
    Failed(String),
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
    /// The embedded cluster refused.
    #[error("embedded cluster: {0}")]
    Cluster(#[from] crate::cluster::ClusterError),
}
