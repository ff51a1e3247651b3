//! An in-process cluster: a model of Kafka, good enough to be the default for trying, testing and simulating.
//!
//! [`EmbeddedCluster::connect`] gives each instance of an application its own [`Cluster`]. Time, delay and
//! chance come from a [`Driver`]; the same driver gives the same history.
//!
//! # Like Kafka
//!
//! - Partitioned logs. Null and empty are two things for keys, values and headers; a header name may come several
//!   times. A record without a timestamp is stamped by the producer's clock.
//! - The default partitioner: murmur2 of the key (an empty key is a key), null keys spread.
//! - Readers see up to the last stable offset or up to the high watermark; positions pass gaps. A place that the
//!   log does not have is an error, never a jump.
//! - Groups: `range` assignment, incremental revocation (only partitions that move are asked back, the others go
//!   on), session time-outs, revocations with a deadline, leaving. Commits of partitions that are not the member's
//!   own are refused whole, by the member itself. The offsets' metadata are kept. Offsets of a deleted topic are deleted.
//! - What members commit is refused by brokers only if they are out of the group, or behind and without the partition.
//!   A member that is up to date could commit what it has lost; that it does not is its own care, here as on Kafka.
//! - Topics: names are checked, settings have Kafka's names and defaults, `max.message.bytes` is enforced on a
//!   record's size in Kafka's format, a compacted topic takes no null key. A topic that was deleted and made again
//!   has another id, and readers of the former one fail.
//! - Transactions: epochs and fencing, time-outs, markers that take offsets, the last stable offset, aborted records
//!   that `read_committed` does not see, offsets that are committed with the records or not at all (and only for
//!   a member that is up to date, or that has their partitions, KIP-447). Committed offsets are not told while a transaction holds others. A commit is
//!   answered a moment before its markers are written, if messages take time.
//! - Compaction keeps the last record of each key, tombstones for `delete.retention.ms` more, and the offsets' gaps;
//!   `retention.ms` counts from the records' own timestamps.
//! - Topics that are produced to are made, if [`EmbeddedOptions::auto_create`] says so.
//!
//! # Not like Kafka
//!
//! - There is one broker, which never fails, unless the driver says so ([`Driver::fault`]); everything is in memory
//!   and goes with the cluster.
//! - Fetching is a look into the log: nothing is prefetched, there are no fetch sizes and no quotas. There is no
//!   compression, so sizes are those of uncompressed records.
//! - A queue whose partition was not released in time falls silent at once, even before the event arrives. (One whose
//!   member's session has run out goes on until the member hears of that, as on Kafka.)
//! - Members are served in the order in which they joined, not by random ids; there is no initial delay of a
//!   rebalance. A member is alive as long as its object and its link are: a member that does not take its events
//!   keeps its session (`max.poll.interval.ms` is not modelled). A revocation that is held too long loses its
//!   partitions, and no others.
//! - Null keys go round robin, record by record; Kafka's clients stay with a partition for a while.
//! - [`Event::Failed`](super::Event::Failed) happens only if it is asked for ([`EmbeddedConnection::expel`]).
//! - There are no users. What is denied ([`EmbeddedCluster::deny`]) is denied to all instances: reading, writing,
//!   describing and making topics, describing groups and committing. Members of a group that may no longer be read stay members.
//! - Cleaning (compaction, retention) happens only when asked for: in a demonstration on old data, Kafka's default
//!   retention of seven days would delete the input. It takes in the whole log at once, for there is no active
//!   segment to spare; `min.compaction.lag.ms`, `segment.ms`, `message.timestamp.type`
//!   and their like are kept and do nothing.

mod access;
mod admin;
mod assignor;
mod compaction;
mod core;
mod driver;
mod group;
mod link;
mod log;
mod mailbox;
mod member;
mod pieces;
mod producer;
mod queue;
mod reader;
mod rebalance;
mod topics;
mod transactional;
mod transactions;
#[cfg(test)]
mod view;
mod waiters;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use self::{
    admin::EmbeddedAdmin,
    core::Shared,
    link::{Link, LinkState},
    member::EmbeddedMember,
    producer::EmbeddedProducer,
    reader::EmbeddedReader,
    transactional::TransactionalProducer,
};
pub use driver::{Driver, Fault, Job, RealDriver, Verb};

use super::{
    Admin, Cluster, ClusterErrorKind, Isolation, JoinRequest, Member, Operation, Producer, ProducerOptions,
    Reader, Resource, Result,
};
use crate::outbox::Outbox;

/// How an embedded cluster behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedOptions {
    /// A topic that is produced to and does not exist is made with this many partitions. `None`: producing to it
    /// fails. Four by default.
    pub auto_create: Option<u32>,
    /// How often logs are cleaned: compacted, and shortened by retention. `None` (the default): only by
    /// [`EmbeddedCluster::clean`].
    pub clean_interval: Option<Duration>,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            auto_create: Some(4),
            clean_interval: None,
        }
    }
}

/// An in-process cluster. Cheap to clone: all clones are the same cluster.
#[derive(Clone)]
pub struct EmbeddedCluster {
    shared: Arc<Shared>,
}

impl fmt::Debug for EmbeddedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedCluster")
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

impl EmbeddedCluster {
    /// An empty cluster.
    pub fn new(driver: Arc<dyn Driver>, options: EmbeddedOptions) -> Self {
        let interval = options.clean_interval;
        let shared = Shared::new(driver, options);
        if let Some(interval) = interval {
            let interval = interval.max(Duration::from_millis(1));
            shared.with(|core| core.clean_every(shared.driver.now(), interval));
        }
        Self { shared }
    }

    /// A new connection: what one instance of an application sees of the cluster.
    pub fn connect(&self) -> Arc<EmbeddedConnection> {
        let instance = self.shared.with(core::Core::number);
        Arc::new(EmbeddedConnection {
            shared: self.shared.clone(),
            instance,
            link: Arc::default(),
        })
    }

    /// Cleans all logs now: compacts those of topics with `cleanup.policy` `compact`, and deletes what is beyond the
    /// retention of the others.
    pub fn clean(&self) {
        self.shared
            .with(|core| core.clean(self.shared.driver.wall(), compaction::clean));
    }

    /// Compacts logs, and deletes nothing for its age.
    #[cfg(test)]
    pub(crate) fn compact(&self) {
        let wall = self.shared.driver.wall();
        self.shared
            .with(|core| core.clean(wall, compaction::compact_only));
    }

    /// Denies an operation to all instances, as a cluster with access control does.
    pub fn deny(&self, resource: Resource, operation: Operation) {
        self.shared.with(|core| core.deny(resource, operation));
    }

    /// Allows again what was denied.
    pub fn allow(&self, resource: &Resource, operation: Operation) {
        self.shared.with(|core| core.allow(resource, operation));
    }

    /// Writes records as they are, at once and without a way: those without a timestamp keep none, which
    /// producers cannot do. For tests.
    pub fn append(&self, records: &mut Outbox) -> Result<()> {
        let (pieces, problem) = self.shared.split(records, &mut pieces::Spread::new(), None);
        records.clear();
        self.shared
            .with(|core| core.write(pieces, None, self.shared.driver.wall()))?;
        problem
    }
}

/// A cluster as one instance sees it, over a link that can be severed.
pub struct EmbeddedConnection {
    shared: Arc<Shared>,
    instance: u64,
    link: Arc<LinkState>,
}

impl fmt::Debug for EmbeddedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedConnection")
            .field("instance", &self.instance)
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

impl EmbeddedConnection {
    /// Cuts the link: the first half of a crash, or of a lost network. A request on its way arrives or not, by
    /// chance; no answer and no event arrives any more; revoke tokens release nothing; the sessions of the
    /// instance's members run out.
    pub fn sever(&self) {
        if !self.link.severed.swap(true, Ordering::SeqCst) {
            self.shared
                .with(|core| core.instance_falls_silent(&*self.shared.driver, self.instance));
        }
    }

    /// Mends the link. Members whose sessions have run out hear that, and join anew.
    pub fn mend(&self) {
        if self.link.severed.swap(false, Ordering::SeqCst) {
            self.shared
                .with(|core| core.instance_is_back(&*self.shared.driver, self.instance));
        }
    }

    /// The instance's process stands still, as after SIGSTOP: it is not heard of, while what it had sent and what is sent
    /// to it arrives. Whoever says so sees to it that the instance does nothing, too.
    pub fn freeze(&self) {
        if !self.link.frozen.swap(true, Ordering::SeqCst) {
            self.shared
                .with(|core| core.instance_falls_silent(&*self.shared.driver, self.instance));
        }
    }

    /// The group forgets the instance, as a coordinator does that has lost its memory of it: with its next heartbeat it
    /// hears that it has lost everything, and joins anew. Until then its commits are refused.
    pub fn evict(&self) {
        self.shared
            .with(|core| core.evict_instance(&*self.shared.driver, self.instance));
    }

    /// The group refuses the instance for good, for this reason.
    pub fn expel(&self, kind: ClusterErrorKind) {
        self.shared.with(|core| core.expel_instance(self.instance, kind));
    }

    /// The process goes on. Members whose sessions have run out hear that with their next heartbeat, and join anew.
    pub fn thaw(&self) {
        if self.link.frozen.swap(false, Ordering::SeqCst) {
            self.shared
                .with(|core| core.instance_is_back(&*self.shared.driver, self.instance));
        }
    }

    /// The group wants partitions back, those with a number in `mask`, and gives them again.
    #[cfg(test)]
    pub(crate) fn want_back(&self, mask: u64) {
        self.shared
            .with(|core| core.want_back_from(&*self.shared.driver, self.instance, mask));
    }

    /// From now on this instance's members commit whatever they are told to, with fresh proof.
    #[cfg(test)]
    pub(crate) fn ungate(&self) {
        self.link.ungated.store(true, Ordering::SeqCst);
    }

    fn link(&self) -> Link {
        Link::new(self.shared.driver.clone(), self.link.clone())
    }
}

impl Cluster for EmbeddedConnection {
    fn join(&self, request: JoinRequest) -> Result<Box<dyn Member>> {
        Ok(Box::new(EmbeddedMember::join(
            self.shared.clone(),
            self.link(),
            self.instance,
            request,
        )))
    }

    fn reader(&self, isolation: Isolation) -> Result<Box<dyn Reader>> {
        let waiter = self.shared.with(core::Core::number);
        Ok(Box::new(EmbeddedReader {
            shared: self.shared.clone(),
            link: self.link(),
            isolation,
            waiter,
        }))
    }

    fn producer(&self, options: ProducerOptions) -> Result<Box<dyn Producer>> {
        if let Some(id) = options.transactional_id {
            let (shared, timeout) = (self.shared.clone(), options.transaction_timeout);
            return Ok(Box::new(TransactionalProducer::new(
                shared,
                self.link(),
                id,
                timeout,
            )));
        }
        Ok(Box::new(EmbeddedProducer::new(self.shared.clone(), self.link())))
    }

    fn admin(&self) -> Result<Box<dyn Admin>> {
        Ok(Box::new(EmbeddedAdmin {
            shared: self.shared.clone(),
            link: self.link(),
        }))
    }

    fn makes_outputs(&self) -> bool {
        self.shared.options.auto_create.is_some()
    }
}
