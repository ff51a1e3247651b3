//! A worker's way into the cluster: its producer, which is made anew whenever it is of no more use.
//!
//! What may be here: which producer there is, and in which state. When something is written, and what a failure
//! means for the tasks, is the worker's.

use std::{sync::Arc, time::Duration};

use super::{
    error::RunError,
    passages,
    rebuilds::{MOST_FENCINGS, Rebuilds, TooOften, WINDOW},
};
use crate::{
    clock::Clock,
    cluster::{
        self, Cluster, ClusterError, ClusterErrorKind, Group, OffsetCommit, Positions, Producer,
        ProducerOptions,
    },
    outbox::Outbox,
};

/// See the module.
pub(super) struct Outlet {
    cluster: Arc<dyn Cluster>,
    clock: Arc<dyn Clock>,
    options: ProducerOptions,
    producer: Box<dyn Producer>,
    settled: Settled,
    /// When the transaction began, as far as the brokers can know of it.
    begun: Option<Duration>,
    /// A producer of ours may have left a transaction open.
    owes: bool,
    rebuilds: Rebuilds,
}

/// With transactions: whether what an earlier producer of the id left open is settled.
enum Settled {
    Yes,
    No,
    /// It will never be.
    Hopeless(ClusterError),
}

impl Outlet {
    pub(super) fn new(
        cluster: Arc<dyn Cluster>,
        clock: Arc<dyn Clock>,
        options: ProducerOptions,
    ) -> Result<Self, RunError> {
        let mut outlet = Self {
            producer: new_producer(&*cluster, &options)?,
            cluster,
            clock,
            settled: Settled::No,
            options,
            begun: None,
            owes: false,
            rebuilds: Rebuilds::default(),
        };
        outlet.unsettle();
        Ok(outlet)
    }

    /// Whether records and offsets are committed together.
    pub(super) fn is_transactional(&self) -> bool {
        self.options.transactional_id.is_some()
    }

    /// Whether there is something that [`settle`](Self::settle) could do.
    pub(super) fn is_to_settle(&self) -> bool {
        matches!(self.settled, Settled::No)
    }

    /// Whether others would have to wait for a transaction of ours to time out, were it not settled.
    pub(super) fn owes(&self) -> bool {
        self.owes && self.is_to_settle()
    }

    /// Settles what an earlier producer of the id left open, if that has not been done. Tries again, at growing
    /// intervals, for as long as that can help; an error is the last word. May be dropped, and called again.
    pub(super) async fn settle(&mut self) -> cluster::Result<()> {
        loop {
            match &self.settled {
                Settled::Yes => return Ok(()),
                Settled::Hopeless(error) => return Err(error.clone()),
                Settled::No => {}
            }
            self.clock.sleep_until(self.rebuilds.not_before()).await;
            match self.producer.init().await {
                Ok(()) => {
                    self.settled = Settled::Yes;
                    self.owes = false;
                }
                Err(error) => self.init_fails(error)?,
            }
        }
    }

    fn init_fails(&mut self, error: ClusterError) -> cluster::Result<()> {
        use ClusterErrorKind as Kind;
        let again = error.kind.is_transient() || matches!(error.kind, Kind::Fenced | Kind::ProducerFailed);
        if again && self.rebuilds.failed(self.clock.now()).is_ok() {
            tracing::warn!(
                %error, id = self.options.transactional_id,
                "the transactions of the last producer are not settled yet; trying again"
            );
            return self.make_anew();
        }
        let error = if again {
            let message = format_args!("no try has succeeded, and this was the last: {error}");
            ClusterError::new(Kind::Fatal, message)
        } else {
            error
        };
        self.settled = Settled::Hopeless(error.clone());
        Err(error)
    }

    /// Hands records over, and empties the outbox in any case.
    pub(super) async fn send(&mut self, records: &mut Outbox) -> cluster::Result<()> {
        if let Err(error) = self.settle().await {
            records.clear();
            return Err(error);
        }
        if self.is_transactional() {
            self.begun.get_or_insert(self.clock.now());
        }
        self.producer.send(records).await
    }

    /// Waits until all is written. Says where.
    pub(super) async fn flush(&mut self) -> cluster::Result<Positions> {
        self.producer.flush().await
    }

    /// Commits what was sent, and offsets with it. Says where it was written.
    pub(super) async fn commit(
        &mut self,
        group: Arc<dyn Group>,
        offsets: Vec<OffsetCommit>,
    ) -> cluster::Result<Positions> {
        let committed = self.producer.commit(group, offsets).await?;
        self.begun = None;
        self.rebuilds.committed();
        Ok(committed)
    }

    /// Aborts what was sent. An error: the producer is of no more use.
    pub(super) async fn abort(&mut self) -> cluster::Result<()> {
        self.producer.abort().await?;
        self.begun = None;
        Ok(())
    }

    /// The largest batch that the producer makes, if it is bound.
    pub(super) fn max_batch(&self) -> Option<usize> {
        self.options.max_batch
    }

    /// Makes the producer anew, for no fault of its own: it was dropped in the middle of a verb, or makes batches that are
    /// too large. With transactions, what it left open is settled before the next record.
    pub(super) fn renew(&mut self, max_batch: Option<usize>) -> Result<(), RunError> {
        self.options.max_batch = max_batch;
        self.owes |= self.begun.take().is_some();
        self.make_anew().map_err(no_producer)
    }

    /// Makes the producer anew, for it has failed. If that happens again and again, the instance ends.
    pub(super) fn rebuild(&mut self, max_batch: Option<usize>, error: &ClusterError) -> Result<(), RunError> {
        let now = self.clock.now();
        let age = self.begun.map(|begun| now.saturating_sub(begun));
        let failed = match error.kind {
            ClusterErrorKind::Fenced => self.fenced(age, error),
            _ => self.rebuilds.failed(now).map_err(|TooOften| {
                let what =
                    "the producer was made anew again and again, and no transaction could be committed";
                RunError::cluster(what, error)
            }),
        };
        self.renew(max_batch)?;
        failed.inspect_err(|error| {
            let error = ClusterError::new(ClusterErrorKind::Fatal, error);
            self.settled = Settled::Hopeless(error);
        })
    }

    /// The same error comes when the brokers have timed a transaction out, and when another producer has the id. How long
    /// the transaction was open tells them apart.
    fn fenced(&mut self, age: Option<Duration>, error: &ClusterError) -> Result<(), RunError> {
        let now = self.clock.now();
        let timeout = self.options.transaction_timeout.unwrap_or(Duration::MAX);
        let id = self.options.transactional_id.clone().unwrap_or_default();
        if let Some(age) = age.filter(|age| *age >= timeout) {
            tracing::warn!(
                id, %error, open = ?age, transaction_timeout = ?timeout,
                "the brokers have aborted a transaction, for it was open for longer than `transaction_timeout`"
            );
            return self.rebuilds.failed(now).map_err(|TooOften| {
                let what = "transactions are not committed within `transaction_timeout`, again and again";
                RunError::cluster(what, error)
            });
        }
        tracing::warn!(
            id, %error,
            "another producer has taken the place of this one: a late request of an earlier one, or another process that uses \
             the same transactional id (a copied state directory?)"
        );
        self.rebuilds.fenced(now).map_err(|TooOften| RunError::Fenced {
            id,
            times: MOST_FENCINGS,
            within: WINDOW,
        })
    }

    fn make_anew(&mut self) -> cluster::Result<()> {
        self.clock.comes_to(passages::RENEWED);
        self.producer = self.cluster.producer(self.options.clone())?;
        self.unsettle();
        Ok(())
    }

    fn unsettle(&mut self) {
        self.settled = match self.settled {
            Settled::Hopeless(_) => return,
            _ if self.is_transactional() => Settled::No,
            _ => Settled::Yes,
        };
    }
}

fn new_producer(cluster: &dyn Cluster, options: &ProducerOptions) -> Result<Box<dyn Producer>, RunError> {
    cluster.producer(options.clone()).map_err(no_producer)
}

#[cold]
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn no_producer(error: ClusterError) -> RunError {
    RunError::cluster("cannot make a producer", &error)
}
