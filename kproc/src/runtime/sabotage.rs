//! Faults that tests plant, one at a time, to prove that the histories would find them.
//!
//! What may be here: the list. Each is a mistake that a runtime like this one could really have. Outside of tests none can
//! be planted, and the compiler removes the questions.

use super::plan::Plan;

/// The list, so that tests have it, too.
macro_rules! faults {
    ($($(#[$doc:meta])+ $fault:ident,)+) => {
        /// A planted fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Sabotage {
            $($(#[$doc])+ $fault,)+
        }

        /// All of them.
        #[cfg(test)]
        pub(crate) const ALL: &[Sabotage] = &[$(Sabotage::$fault,)+];
    };
}

faults! {
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
    /// State is brought up from its changelog, however long it was left alone.
    AgeIgnored,
    /// The position of a commit is saved, and its state is not.
    PositionWithoutState,
    /// At least once: a process that has stood still writes before it asks whether its partitions are still its own.
    Unconfirmed,
    /// Offsets are committed with fresh proof of membership, whether or not their partitions are still ours. (Planted in
    /// the connection.)
    #[cfg(test)]
    FreshMetadata,
    /// What was done before an abort stays, and is done again.
    DoneBeforeAbortKept,
    /// A commit is under the name of an assignment of before.
    StaleMetadata,
    /// What should have followed from an advance of stream time, and has not, is forgotten.
    OwedForgotten,
    /// Whatever state there is, it is restored from nothing.
    StateWiped,
    /// A state in which damage was found is good enough for what does not meet it.
    DamageIgnored,
}

impl Plan {
    /// Whether a test has planted this fault.
    pub(super) fn has(&self, fault: Sabotage) -> bool {
        cfg!(test) && self.settings.sabotage == Some(fault)
    }
}
