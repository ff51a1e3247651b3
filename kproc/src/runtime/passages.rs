//! What an instance is in the middle of, by names that simulated trials count with: a crash in a commit is another one than a
//! crash in a restore, and all of them must come up (see `tests/sim/coverage`).
//!
//! Between two steps of which the first must not be without the second, there is a place where simulated trials lie in wait
//! (`tests/sim/ambush`): whoever adds such steps adds one.
//!
//! What may be here: names. They are given to [`Clock::passage`](crate::Clock::passage),
//! [`Clock::happens`](crate::Clock::happens) and [`Clock::comes_to`](crate::Clock::comes_to), which do nothing in production.

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

/// The group gives partitions.
pub(super) const ASSIGNED: &str = "partitions are given";
/// Changelogs were read to their ends, and inputs are not yet where they were committed.
pub(super) const REPLAYED: &str = "changelogs were read to their ends";
/// Some of a changelog is in the state, and more is to come.
pub(super) const BATCH_RESTORED: &str = "between two batches of a restore";
/// A restored task is on its way to a worker.
pub(super) const HANDED_OVER: &str = "a task is handed to a worker";
/// A worker begins with a task.
pub(super) const BEGUN: &str = "a task begins";
/// A task rests that owes firings of its timers.
pub(super) const OWING: &str = "a task rests and owes firings";
/// Whether the partitions are still ours is asked before something is written.
pub(super) const DOUBTED: &str = "it is asked whether partitions are still ours";
/// What is to be committed is with the producer, and nothing of it is committed.
pub(super) const PREPARED: &str = "a commit is prepared";
/// At least once: all is written, and the offsets are not committed.
pub(super) const WRITTEN: &str = "records are written, and offsets are not committed";
/// The state of one of a task's processors has followed.
pub(super) const SAVED: &str = "between two environments' commits";
/// A commit has not come about, and nothing was done about that.
pub(super) const NOT_COMMITTED: &str = "a commit has failed";
/// A producer takes the place of one that is of no more use.
pub(super) const RENEWED: &str = "a producer is made anew";
/// A task is on its way back to the restorer.
pub(super) const HANDED_BACK: &str = "a task is handed back";
/// Tasks that are to end rest, and have not committed.
pub(super) const RESTING: &str = "tasks that end are at rest";
/// A task's environments are closed, and a revocation may wait for that.
pub(super) const CLOSED: &str = "a task's state is closed";
/// All parts have ended, and the group is not left.
pub(super) const LEAVING: &str = "the group is left";

/// All places where something can lie in wait: moments, and the beginnings of what takes a while.
#[cfg(test)]
pub(super) const PLACES: [&str; 28] = [
    COMMIT,
    STATE_FOLLOWS,
    RESTORE,
    FALL_BACK,
    SETTLEMENT,
    REVOCATION,
    STOP,
    WANTED_BACK,
    LOST,
    WANTED_BACK_UNRESTORED,
    LOST_UNRESTORED,
    REBUILT,
    ASSIGNED,
    REPLAYED,
    BATCH_RESTORED,
    HANDED_OVER,
    BEGUN,
    OWING,
    DOUBTED,
    PREPARED,
    WRITTEN,
    SAVED,
    NOT_COMMITTED,
    RENEWED,
    HANDED_BACK,
    RESTING,
    CLOSED,
    LEAVING,
];
