//! What a cluster's verbs fail with.

use std::fmt;

/// A verb that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterError {
    /// What to do about it depends on this.
    pub kind: ClusterErrorKind,
    /// What happened and where, in words.
    pub message: String,
}

/// The classes of failures that the runtime distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterErrorKind {
    /// The same call may succeed later.
    Retriable,
    /// A partition is not ours (any more) under the ownership number given.
    OwnershipLost,
    /// With transactions: the transaction must be aborted; the producer lives on.
    AbortTransaction,
    /// With transactions: this producer is an older incarnation, or was timed out. Make a new one.
    Fenced,
    /// With transactions: this producer can do nothing more, for another reason. Make a new one.
    ProducerFailed,
    /// It is not known whether it happened.
    Unknown,
    /// The log does not have the offset: it starts later or ends earlier.
    OffsetOutOfRange,
    /// There is no such topic or partition.
    UnknownTopic,
    /// The topic exists already.
    TopicExists,
    /// A record is larger than the topic takes.
    RecordTooLarge,
    /// Not allowed.
    Unauthorized,
    /// The verb does not exist here.
    Unsupported,
    /// Anything else; trying again will not help.
    Fatal,
}

impl ClusterErrorKind {
    /// Whether it may be over soon: what does no harm twice is worth trying again.
    pub(crate) const fn is_transient(self) -> bool {
        matches!(self, Self::Retriable | Self::Unknown)
    }
}

impl ClusterError {
    /// An error of this kind.
    #[cold]
    pub fn new(kind: ClusterErrorKind, message: impl fmt::Display) -> Self {
        Self {
            kind,
            message: message.to_string(),
        }
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ClusterError {}
