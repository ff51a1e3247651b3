//! What an instance is in the middle of, by names that simulated trials count with: a crash in a commit is another one than a
//! crash in a restore, and all of them must come up (see `tests/sim/coverage`).
//!
//! Between two steps of which the first must not be without the second, there is a place where simulated trials lie in wait
//! (`tests/sim/ambush`): whoever adds such steps adds one.
//!
//! What may be here: names. They are given to [`Clock::passage`](crate::Clock::passage),
//! [`Clock::happens`](crate::Clock::happens) and [`Clock::comes_to`](crate::Clock::comes_to), which do nothing in production.

/// The names, and lists of them for tests.
macro_rules! passages {
    (
        lasting: { $($(#[$about:meta])+ $lasting:ident = $span:literal,)+ }
        moments: { $($(#[$what:meta])+ $moment:ident = $point:literal,)+ }
    ) => {
        $($(#[$about])+ pub(super) const $lasting: &str = $span;)+
        $($(#[$what])+ pub(super) const $moment: &str = $point;)+

        /// All that takes a while.
        #[cfg(test)]
        pub(super) const ALL: &[&str] = &[$($lasting,)+];

        /// All places where something can lie in wait: moments, and the beginnings of what takes a while.
        #[cfg(test)]
        pub(super) const PLACES: &[&str] = &[$($lasting,)+ $($moment,)+];
    };
}

passages! {
    lasting: {
        /// From the moment when tasks are asked what they have changed, until their state is written.
        COMMIT = "a commit",
        /// The cluster has committed, and the state on disk does not say so yet.
        STATE_FOLLOWS = "the gap between the cluster's commit and the state's",
        /// A task's state is brought to its last commit, for the task is new here.
        RESTORE = "a restore",
        /// The same, for what it has done since was not committed.
        FALL_BACK = "a fall-back",
        /// What an earlier producer of the same id left open is settled.
        SETTLEMENT = "a settlement of transactions",
        /// A partition is wanted back, and is finished and committed.
        REVOCATION = "a revocation",
        /// Everything is finished and committed, for the instance stops.
        STOP = "a stop",
    }
    moments: {
        /// The group wants partitions back.
        WANTED_BACK = "partitions are wanted back",
        /// The group has given partitions to somebody else.
        LOST = "partitions are lost",
        /// One of them was not even restored.
        WANTED_BACK_UNRESTORED = "a partition is wanted back before it is restored",
        /// One of them was not even restored.
        LOST_UNRESTORED = "a partition is lost before it is restored",
        /// A state is not trusted, and begins with nothing.
        REBUILT = "a state is rebuilt",
        /// The group gives partitions.
        ASSIGNED = "partitions are given",
        /// Changelogs were read to their ends, and inputs are not yet where they were committed.
        REPLAYED = "changelogs were read to their ends",
        /// Some of a changelog is in the state, and more is to come.
        BATCH_RESTORED = "between two batches of a restore",
        /// A restored task is on its way to a worker.
        HANDED_OVER = "a task is handed to a worker",
        /// A worker begins with a task.
        BEGUN = "a task begins",
        /// A task rests that owes firings of its timers.
        OWING = "a task rests and owes firings",
        /// Whether the partitions are still ours is asked before something is written.
        DOUBTED = "it is asked whether partitions are still ours",
        /// What is to be committed is with the producer, and nothing of it is committed.
        PREPARED = "a commit is prepared",
        /// At least once: all is written, and the offsets are not committed.
        WRITTEN = "records are written, and offsets are not committed",
        /// The state of one of a task's processors has followed.
        SAVED = "between two environments' commits",
        /// A commit has not come about, and nothing was done about that.
        NOT_COMMITTED = "a commit has failed",
        /// A producer takes the place of one that is of no more use.
        RENEWED = "a producer is made anew",
        /// A task is on its way back to the restorer.
        HANDED_BACK = "a task is handed back",
        /// Tasks that are to end rest, and have not committed.
        RESTING = "tasks that end are at rest",
        /// A task's environments are closed, and a revocation may wait for that.
        CLOSED = "a task's state is closed",
        /// All parts have ended, and the group is not left.
        LEAVING = "the group is left",
    }
}
