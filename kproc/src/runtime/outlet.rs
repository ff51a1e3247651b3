//! A worker's way into the cluster: its producer, which is made anew whenever it is of no more use.
//!
//! What may be here: which producer there is, and in which state. When something is written, and what a failure
//! means for the tasks, is the worker's.

use std::sync::Arc;

use super::error::RunError;
use crate::{
    cluster::{self, Cluster, Group, OffsetCommit, Positions, Producer, ProducerOptions},
    outbox::Outbox,
};

/// See the module.
pub(super) struct Outlet {
    cluster: Arc<dyn Cluster>,
    options: ProducerOptions,
    producer: Box<dyn Producer>,
    /// With transactions: what an earlier producer of the id left open is settled.
    settled: bool,
}

impl Outlet {
    pub(super) fn new(cluster: Arc<dyn Cluster>, options: ProducerOptions) -> Result<Self, RunError> {
        Ok(Self {
            producer: new_producer(&*cluster, &options)?,
            settled: options.transactional_id.is_none(),
            cluster,
            options,
        })
    }

    /// Whether records and offsets are committed together.
    pub(super) fn is_transactional(&self) -> bool {
        self.options.transactional_id.is_some()
    }

    /// Settles what an earlier producer of the id left open, if that has not been done.
    pub(super) async fn settle(&mut self) -> cluster::Result<()> {
        if !self.settled {
            self.producer.init().await?;
            self.settled = true;
        }
        Ok(())
    }

    /// Hands records over, and empties the outbox in any case.
    pub(super) async fn send(&mut self, records: &mut Outbox) -> cluster::Result<()> {
        if let Err(error) = self.settle().await {
            records.clear();
            return Err(error);
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
        self.producer.commit(group, offsets).await
    }

    /// Aborts what was sent. An error: the producer is of no more use.
    pub(super) async fn abort(&mut self) -> cluster::Result<()> {
        self.producer.abort().await
    }

    /// The largest batch that the producer makes, if it is bound.
    pub(super) fn max_batch(&self) -> Option<usize> {
        self.options.max_batch
    }

    /// Makes the producer anew: the old one was dropped in the middle of a verb, or has failed, or makes batches that
    /// are too large. With transactions, what it left open is settled before the next record.
    pub(super) fn renew(&mut self, max_batch: Option<usize>) -> Result<(), RunError> {
        self.options.max_batch = max_batch;
        self.producer = new_producer(&*self.cluster, &self.options)?;
        self.settled = !self.is_transactional();
        Ok(())
    }
}

fn new_producer(cluster: &dyn Cluster, options: &ProducerOptions) -> Result<Box<dyn Producer>, RunError> {
    cluster
        .producer(options.clone())
        .map_err(|error| RunError::cluster("cannot make a producer", &error))
}
