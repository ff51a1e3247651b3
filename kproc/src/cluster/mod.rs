//! The few verbs that the runtime needs of a Kafka cluster, and their implementations.
//!
//! What may be here: traits whose objects are called once per batch or per commit, never per record, and the
//! plain data that passes through them. Objects are [`Send`] (they move to their thread once); the futures of
//! their verbs need not be. Names of topics are names in the cluster; binding happens above.
//!
//! Rules that every implementation keeps, and every caller may rely on:
//!
//! - **Requests outlive their futures.** A verb is on its way once it was called; dropping its future does not
//!   undo it. Verbs are not cancel-safe unless they say so: after dropping one, the outcome is unknown.
//! - **Drop is what a crash looks like.** Leaving and committing are verbs; no destructor does them. (The one
//!   exception is [`RevokeToken`], whose drop releases the rebalance.)
//! - **Ownership travels.** Every assignment of a partition has an [`Ownership`] number of its own; commits
//!   carry it, and are refused once the partition has been lost or given to somebody else.
//! - **Time comes from the [`Clock`].**

mod access;
pub mod embedded;
mod error;
#[cfg(feature = "kafka")]
pub mod kafka;

use std::{
    any::Any,
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

pub use crate::clock::{BoxFuture, Clock};
pub use access::{Operation, Operations, Resource};
pub use error::{ClusterError, ClusterErrorKind};

use crate::{
    batch::Batch,
    outbox::Outbox,
    record::{Offset, TopicPartition},
};

/// The result of a verb.
pub type Result<T> = std::result::Result<T, ClusterError>;

/// A cluster, as one instance of an application sees it.
pub trait Cluster: Send + Sync {
    /// Joins a consumer group. Cheap and at once; what goes wrong comes as an [`Event`].
    fn join(&self, request: JoinRequest) -> Result<Box<dyn Member>>;
    /// A reader of partitions outside any group.
    fn reader(&self, isolation: Isolation) -> Result<Box<dyn Reader>>;
    /// A producer; transactional if it has an id.
    fn producer(&self, options: ProducerOptions) -> Result<Box<dyn Producer>>;
    /// Administration.
    fn admin(&self) -> Result<Box<dyn Admin>>;
    /// Who the cluster takes this client for, in the form of Kafka's access control (`User:app`), if that is known.
    fn principal(&self) -> Option<String> {
        None
    }
    /// Whether topics make themselves when they are written to, so that outputs need not be there at the start. On
    /// Kafka they should not: they would have the broker's number of partitions and not the application's.
    fn makes_outputs(&self) -> bool {
        false
    }
}

/// What it takes to join a group.
#[derive(Debug, Clone)]
pub struct JoinRequest {
    /// The group: the application's id.
    pub group: String,
    /// The topics to share among the members. Partitions of equal number go to the same member (`range`).
    pub topics: Vec<Arc<str>>,
    /// How long a member may be silent before its partitions are given away.
    pub session_timeout: Duration,
    /// How often a member is heard of, which is also when it hears of rebalances; see
    /// [`heartbeat`](Self::heartbeat).
    pub heartbeat_interval: Option<Duration>,
    /// How long a revocation may be held; see [`RevokeToken`].
    pub revoke_timeout: Duration,
    /// Which records the partition queues show.
    pub isolation: Isolation,
    /// How many bytes of records each partition queue may hold before they are taken, about; `None`: as the
    /// implementation likes.
    pub read_ahead: Option<usize>,
    /// A text that other members can read, such as a fingerprint of the topology.
    pub client_id: String,
}

impl JoinRequest {
    /// How often a member is heard of: unless something else was said, nine times in a session, as the brokers' own
    /// defaults have it.
    pub fn heartbeat(&self) -> Duration {
        self.heartbeat_interval.unwrap_or(self.session_timeout / 9)
    }
}

/// Which records a reader sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Up to the last stable offset, without those of aborted transactions.
    ReadCommitted,
    /// All, up to the high watermark.
    ReadUncommitted,
}

/// A number that one assignment of one partition has, and no other assignment of it ever again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ownership(pub u64);

/// Membership of a group: a stream of events. What others need meanwhile is on [`Group`].
pub trait Member: Send {
    /// The next event. Cancel-safe: events are kept until taken. Somebody must wait here at all times, for
    /// that is what keeps the membership alive.
    fn next_event(&mut self) -> BoxFuture<'_, Event>;
    /// The group's shared verbs.
    fn group(&self) -> Arc<dyn Group>;
    /// Leaves the group, so that others get the partitions at once.
    fn leave(self: Box<Self>) -> BoxFuture<'static, Result<()>>;
}

/// What happens to a member. The partitions of one event belong together.
#[derive(Debug)]
pub enum Event {
    /// These partitions are ours from now on.
    Assigned(Vec<Assignment>),
    /// These are wanted back: finish, commit, and drop the token.
    Revoked(Vec<(TopicPartition, Ownership)>, RevokeToken),
    /// These are gone already; somebody else may be processing them. Nothing of them may be committed. (If a token
    /// was dropped at the last moment, they may be known no more.)
    Lost(Vec<(TopicPartition, Ownership)>),
    /// The membership has failed for good; everything is lost.
    Failed(ClusterError),
}

/// One partition, given to us.
pub struct Assignment {
    /// Which one.
    pub partition: TopicPartition,
    /// The number of this assignment.
    pub ownership: Ownership,
    /// Its records. It has no position yet: [`Queue::seek`] first.
    pub queue: Box<dyn Queue>,
}

impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assignment")
            .field("partition", &self.partition)
            .field("ownership", &self.ownership)
            .finish_non_exhaustive()
    }
}

/// Holds a rebalance for as long as it lives, up to its deadline; then the partitions are lost.
pub struct RevokeToken {
    /// When ownership ends in any case, on the cluster's clock.
    pub deadline: Duration,
    release: Option<Box<dyn FnOnce() + Send>>,
}

impl fmt::Debug for RevokeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevokeToken")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl RevokeToken {
    /// A token that calls `release` when it is dropped.
    pub fn new(deadline: Duration, release: impl FnOnce() + Send + 'static) -> Self {
        Self {
            deadline,
            release: Some(Box::new(release)),
        }
    }
}

impl Drop for RevokeToken {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

/// Verbs of the group that workers and restores need while the owner waits for events.
pub trait Group: Send + Sync {
    /// The committed offsets, once they are stable: offsets of a transaction that is not yet decided are
    /// waited for ([`ClusterErrorKind::Retriable`] if that takes too long). `None`: nothing was committed.
    fn committed(
        &self,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<'static, Result<Vec<Option<CommittedOffset>>>>;
    /// Commits offsets. All or nothing as far as ownership goes: if any partition is no longer ours under its
    /// number, [`ClusterErrorKind::OwnershipLost`] and nothing is committed.
    fn commit(&self, offsets: Vec<OffsetCommit>) -> BoxFuture<'static, Result<()>>;
    /// The implementation itself, so that [`Producer::commit`] recognises the group of its own cluster.
    fn as_any(&self) -> &(dyn Any + Send + Sync);
}

/// An offset that the group has committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The next record to process.
    pub next: Offset,
    /// What was committed with it.
    pub metadata: String,
}

/// An offset to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetCommit {
    /// The partition.
    pub partition: TopicPartition,
    /// The assignment under which its records were processed.
    pub ownership: Ownership,
    /// The next record to process.
    pub next: Offset,
    /// Kept with the offset: the task's stream time.
    pub metadata: String,
}

/// Where to read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekTo {
    /// This place. If the log does not have it (any more), reading fails with
    /// [`ClusterErrorKind::OffsetOutOfRange`]; the position never jumps.
    At(Offset),
    /// The first record that the log has.
    Earliest,
    /// What comes after the present end.
    Latest,
}

/// An assigned partition's records, in order.
pub trait Queue: Send {
    /// The next records, `max` at most. Stores the waker first and looks then, so that nothing is missed
    /// between an empty look and the wake-up.
    fn poll_batch(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Batch>>;
    /// Reads on from there. Records of before the seek are never shown after it.
    fn seek(&mut self, to: SeekTo);
    /// The next place to be read, passed-over markers and aborted records included; `None` before it is known.
    fn position(&self) -> Option<Offset>;
    /// The end of the partition (for its isolation) as far as is known without asking, for KIP-695: below it
    /// there are records on their way. `None` if nothing was heard yet; whoever then waits for records is woken when
    /// it is known, too.
    fn known_end(&self) -> Option<Offset>;
}

/// The first and last places of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// The first record there is.
    pub earliest: Offset,
    /// The last stable offset: the end for [`Isolation::ReadCommitted`].
    pub stable: Offset,
    /// The high watermark: the place of the next record to be written.
    pub latest: Offset,
}

/// Reads partitions outside any group: restore, dump.
pub trait Reader: Send {
    /// The ends of a partition, asked now.
    fn watermarks(&mut self, partition: TopicPartition) -> BoxFuture<'_, Result<Watermarks>>;
    /// Records from `from` on, `max` at most; waits up to `wait` if there are none.
    /// [`ReadBatch::next`] says how far it got, passed-over markers and aborted records included.
    fn read(
        &mut self,
        partition: TopicPartition,
        from: Offset,
        max: usize,
        wait: Duration,
    ) -> BoxFuture<'_, Result<ReadBatch>>;
}

/// What a [`Reader`] found.
#[derive(Debug)]
pub struct ReadBatch {
    /// The records, perhaps none.
    pub batch: Batch,
    /// Where to read on.
    pub next: Offset,
}

/// How a producer is made.
#[derive(Debug, Clone, Default)]
pub struct ProducerOptions {
    /// Makes it transactional. Stable over restarts, unique per process and worker.
    pub transactional_id: Option<String>,
    /// The broker aborts a transaction that is older than this.
    pub transaction_timeout: Option<Duration>,
    /// No batch is larger, unless it is of one record: the least that any of its topics takes. `None`: it is not known.
    pub max_batch: Option<usize>,
    /// How many bytes of records may wait to be written, about; `None`: as the implementation likes.
    pub buffer: Option<usize>,
    /// Records that wait, while no broker writes anything for so long, are refused: the process has stood still, or was cut off,
    /// and somebody else may have written on. As far as the implementation can tell; `None`: they stay good.
    pub stale_after: Option<Duration>,
}

/// Places in partitions: for each, the place after the last record that was written there.
pub type Positions = Vec<(TopicPartition, Offset)>;

/// Writes records; with transactions, if it was made with an id.
///
/// Order of calls without transactions: any number of `send`, then `flush`. With: `init` once, then for each
/// transaction `send`s (the first one begins it), and `commit` or `abort`.
pub trait Producer: Send {
    /// Settles what an earlier producer of the same id left open, and fences it. May be dropped: the next call waits for
    /// the same answer. A second request would fence the producer, should the first one arrive after it.
    fn init(&mut self) -> BoxFuture<'_, Result<()>>;
    /// Hands the records over and empties the outbox. That they were handed over does not mean that they were
    /// written. On an error the outbox is emptied, too, and (with transactions) the transaction cannot commit. The
    /// error is about some of the records; others may have been handed over.
    fn send<'a>(&'a mut self, records: &'a mut Outbox) -> BoxFuture<'a, Result<()>>;
    /// Waits until all that was handed over is written. Fails if any record was not. Says where records landed
    /// since the last flush.
    fn flush(&mut self) -> BoxFuture<'_, Result<Positions>>;
    /// Flushes, adds the offsets to the transaction, and commits it. An empty transaction with offsets is
    /// committed; one without either is not begun. [`ClusterErrorKind::Unknown`]: the outcome is open, and
    /// only `init` on a new producer of the same id settles it. [`ClusterErrorKind::OwnershipLost`] and
    /// [`ClusterErrorKind::AbortTransaction`]: nothing was committed; `abort` comes next, and the producer lives on.
    fn commit(
        &mut self,
        group: Arc<dyn Group>,
        offsets: Vec<OffsetCommit>,
    ) -> BoxFuture<'_, Result<Positions>>;
    /// Aborts the transaction, if one is open.
    fn abort(&mut self) -> BoxFuture<'_, Result<()>>;
}

/// A topic, as the cluster describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: Arc<str>,
    /// Its identity: another one if it was deleted and made again.
    pub id: uuid::Uuid,
    /// How many partitions it has.
    pub partitions: u32,
    /// Its settings, those that are asked for by this crate at least: `cleanup.policy`, `retention.ms`,
    /// `delete.retention.ms`, `max.message.bytes`.
    pub config: Vec<(String, String)>,
}

/// A topic to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions.
    pub partitions: u32,
    /// Its settings, by Kafka's names.
    pub config: Vec<(String, String)>,
}

/// A member of a group, as others see it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberDescription {
    /// What it said of itself when it joined ([`JoinRequest::client_id`]).
    pub client_id: String,
    /// Where it runs, as the cluster sees it.
    pub host: String,
}

/// Administration of a cluster.
pub trait Admin: Send {
    /// Describes topics: `None` where there is none of that name. If any of them may not be described,
    /// [`ClusterErrorKind::Unauthorized`], whether or not it is there. Settings that may not be seen are left out.
    fn describe(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Option<TopicDescription>>>>;
    /// As [`describe`](Self::describe), without the settings, which may cost a request for each topic.
    fn identify(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Option<TopicDescription>>>>;
    /// Makes topics; one result for each.
    fn create(&mut self, topics: Vec<NewTopic>) -> BoxFuture<'_, Result<Vec<Result<()>>>>;
    /// Says what [`create`](Admin::create) would, and makes nothing.
    fn try_create(&mut self, topics: Vec<NewTopic>) -> BoxFuture<'_, Result<Vec<Result<()>>>>;
    /// What may be done with each of these. `None`: the cluster does not say, as never of transactional ids. (A cluster without access control
    /// allows everything.)
    fn access(&mut self, to: Vec<Resource>) -> BoxFuture<'_, Result<Vec<Option<Operations>>>>;
    /// The members of a group; none, if there is no such group.
    fn group_members(&mut self, group: String) -> BoxFuture<'_, Result<Vec<MemberDescription>>>;
    /// Deletes topics; one result for each.
    fn delete(&mut self, topics: Vec<Arc<str>>) -> BoxFuture<'_, Result<Vec<Result<()>>>>;
    /// Deletes the records before an offset.
    fn delete_records(&mut self, before: Vec<(TopicPartition, Offset)>) -> BoxFuture<'_, Result<()>>;
    /// The committed offsets of a group, now: those that a transaction has which is not decided do not count yet, and are not
    /// waited for.
    fn group_offsets(
        &mut self,
        group: String,
    ) -> BoxFuture<'_, Result<Vec<(TopicPartition, CommittedOffset)>>>;
    /// Replaces committed offsets of a group without members (`None`: deletes).
    fn set_group_offsets(
        &mut self,
        group: String,
        offsets: Vec<(TopicPartition, Option<Offset>)>,
    ) -> BoxFuture<'_, Result<()>>;
}
