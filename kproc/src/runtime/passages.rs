//! What an instance is in the middle of, by names that simulated trials count with: a crash in a commit is another one than a
//! crash in a restore, and all of them must come up (see `tests/sim/coverage`).
//!
//! What may be here: names. They are given to [`Clock::passage`](crate::Clock::passage) and
//! [`Clock::happens`](crate::Clock::happens), which do nothing in production.

/// From the moment when tasks are asked what they have changed, until their state is written.
pub(super) const COMMIT: &str = "a commit";
/// The cluster has committed, and the state on disk does not say so yet.
pub(super) const STATE_FOLLOWS: &str = "the gap between the cluster's commit and the state's";
/// A task's state is brought to its last commit, for the task is new here.
pub(super) const RESTORE: &str = "a restore";
/// The same, for what it has done since was not committed.
pub(super) const FALL_BACK: &str = "a fall-back";
/// What an earlier producer of the same id left open is settled.
pub(super) const SETTLEMENT: &str = "a settlement of transactions";
/// A partition is wanted back, and is finished and committed.
pub(super) const REVOCATION: &str = "a revocation";
/// Everything is finished and committed, for the instance stops.
pub(super) const STOP: &str = "a stop";

/// All of them.
#[cfg(test)]
pub(super) const ALL: [&str; 7] = [
    COMMIT,
    STATE_FOLLOWS,
    RESTORE,
    FALL_BACK,
    SETTLEMENT,
    REVOCATION,
    STOP,
];

/// The group wants partitions back.
pub(super) const WANTED_BACK: &str = "partitions are wanted back";
/// The group has given partitions to somebody else.
pub(super) const LOST: &str = "partitions are lost";
/// One of them was not even restored.
pub(super) const WANTED_BACK_UNRESTORED: &str = "a partition is wanted back before it is restored";
/// One of them was not even restored.
pub(super) const LOST_UNRESTORED: &str = "a partition is lost before it is restored";
/// A state is not trusted, and begins with nothing.
pub(super) const REBUILT: &str = "a state is rebuilt";
