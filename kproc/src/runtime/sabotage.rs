//! Faults that tests plant, one at a time, to prove that the histories would find them.
//!
//! What may be here: the list. Each is a mistake that a runtime like this one could really have. Outside of tests none can
//! be planted, and the compiler removes the questions.

use super::plan::Plan;

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// The state is written before the cluster has accepted what belongs to it.
    StateFirst,
    /// At least once: the offsets are committed before the records are written.
    OffsetsFirst,
    /// At least once: changelogs are written together with the outputs, and not after them.
    ChangelogsBesideOutputs,
    /// Records that were not written are taken for written.
    WriteErrorsIgnored,
    /// A transaction of which nobody knows is taken for one that was aborted.
    UnknownTakenForAborted,
    /// After an abort the task goes on as it is.
    NoFallBack,
    /// After a fall-back the input is read on from where it was.
    NoRewind,
    /// What has been read is committed, and not what has been processed.
    ReadTakenForProcessed,
    /// In transactions, too, what a task sends goes out whenever it rests.
    SentBeforeCommit,
    /// A partition that is wanted back is given before it is committed.
    ReleasedFirst,
    /// A stop commits nothing.
    NoLastCommit,
    /// A restore reads what was not committed.
    UncommittedRestored,
    /// A restore ends at the last stable offset, before the markers of the last commit are written.
    RestoreEndsEarly,
    /// A restore that has stored something says that it has stored all.
    RestoreSaysDone,
    /// A restore passes deletions over.
    DeletionsForgotten,
    /// The position of a commit is saved, and its state is not.
    PositionWithoutState,
    /// At least once: a process that has stood still writes before it asks whether its partitions are still its own.
    Unconfirmed,
    /// Offsets are committed with fresh proof of membership, whether or not their partitions are still ours. (Planted in
    /// the connection.)
    #[cfg(test)]
    FreshMetadata,
}

/// All of them.
#[cfg(test)]
pub(crate) const ALL: &[Sabotage] = &[
    Sabotage::StateFirst,
    Sabotage::OffsetsFirst,
    Sabotage::ChangelogsBesideOutputs,
    Sabotage::WriteErrorsIgnored,
    Sabotage::UnknownTakenForAborted,
    Sabotage::NoFallBack,
    Sabotage::NoRewind,
    Sabotage::ReadTakenForProcessed,
    Sabotage::SentBeforeCommit,
    Sabotage::ReleasedFirst,
    Sabotage::NoLastCommit,
    Sabotage::UncommittedRestored,
    Sabotage::RestoreEndsEarly,
    Sabotage::RestoreSaysDone,
    Sabotage::DeletionsForgotten,
    Sabotage::PositionWithoutState,
];

impl Plan {
    /// Whether a test has planted this fault.
    pub(super) fn has(&self, fault: Sabotage) -> bool {
        cfg!(test) && self.settings.sabotage == Some(fault)
    }
}
