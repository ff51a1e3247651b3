//! Writing records.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    core::{Core, Shared},
    driver::Verb,
    link::{Answer, Link},
    log::TxnNumber,
    pieces::{Piece, Spread, Target, split},
    topics::unknown,
};
use crate::{
    clock::BoxFuture,
    cluster::{
        ClusterError, ClusterErrorKind, Group, NewTopic, OffsetCommit, Operation, Positions, Producer,
        Resource, Result,
    },
    outbox::Outbox,
    record::{Timestamp, TopicPartition},
};

/// A producer without transactions.
pub(super) struct EmbeddedProducer {
    shared: Arc<Shared>,
    link: Link,
    spread: Spread,
    /// Handed over, and not yet flushed.
    sent: Vec<Answer<Positions>>,
}

impl EmbeddedProducer {
    pub(super) fn new(shared: Arc<Shared>, link: Link) -> Self {
        Self {
            shared,
            link,
            spread: Spread::new(),
            sent: Vec::new(),
        }
    }

    /// The request leaves at once; what is returned is what can be said without an answer.
    fn hand_over(&mut self, records: &mut Outbox) -> Result<()> {
        if self.link.is_severed() {
            records.clear();
            self.sent.push(unheard(&self.link, Verb::Produce));
            return Ok(());
        }
        let (pieces, problem) = self
            .shared
            .split(records, &mut self.spread, Some(self.shared.driver.wall()));
        records.clear();
        if !pieces.is_empty() {
            let shared = self.shared.clone();
            let write = move || shared.with(|core| core.write(pieces, None, shared.driver.wall()));
            self.sent.push(self.link.call(Verb::Produce, write));
        }
        problem
    }
}

impl Producer for EmbeddedProducer {
    fn init(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn send<'a>(&'a mut self, records: &'a mut Outbox) -> BoxFuture<'a, Result<()>> {
        let handed_over = self.hand_over(records);
        Box::pin(async move {
            self.link.pause().await;
            handed_over
        })
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<Positions>> {
        Box::pin(async {
            let mut positions = BTreeMap::new();
            let mut outcome = Ok(());
            for answer in std::mem::take(&mut self.sent) {
                match answer.await {
                    Ok(written) => positions.extend(written),
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
            outcome.map(|()| positions.into_iter().collect())
        })
    }

    fn commit(&mut self, _: Arc<dyn Group>, _: Vec<OffsetCommit>) -> BoxFuture<'_, Result<Positions>> {
        Box::pin(async { Err(no_transactions()) })
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Err(no_transactions()) })
    }
}

/// The answer to a request that does not leave, so that its caller finds out by time. Not even a topic is made.
pub(super) fn unheard(link: &Link, verb: Verb) -> Answer<Positions> {
    link.call(verb, || Ok(Positions::new()))
}

#[cold]
fn no_transactions() -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::Unsupported,
        "this producer was made without a transactional id, and has no transactions",
    )
}

impl Shared {
    /// What a client does before the records leave: looks the topics up (makes them, if that is allowed), and
    /// splits the records by partition.
    pub(super) fn split(
        &self,
        records: &Outbox,
        spread: &mut Spread,
        stamp: Option<Timestamp>,
    ) -> (Vec<Piece>, Result<()>) {
        split(records, |name| self.target(name), spread, stamp)
    }

    fn target(&self, name: &Arc<str>) -> Option<Target> {
        self.with(|core| {
            if core.topics.get(name).is_none() {
                let partitions = self.options.auto_create?;
                let new = NewTopic {
                    name: name.clone(),
                    partitions,
                    config: vec![],
                };
                core.create_topic(&*self.driver, &new).ok()?;
            }
            core.topics.get(name).map(|topic| Target {
                id: topic.id,
                partitions: topic.partitions.len() as u32,
                compact: topic.config.compact,
                max_message_bytes: topic.config.max_message_bytes,
            })
        })
    }
}

impl Core {
    /// Writes each partition's records. What finds its partition is written, whatever becomes of the rest.
    pub(super) fn write(
        &mut self,
        pieces: Vec<Piece>,
        txn: Option<TxnNumber>,
        wall: Timestamp,
    ) -> Result<Positions> {
        self.version += 1;
        let mut positions = Positions::with_capacity(pieces.len());
        let mut outcome = Ok(());
        for Piece {
            place,
            topic,
            segment,
        } in pieces
        {
            match self.writable(&place, topic) {
                Ok(log) => {
                    let end = log.append(segment, txn, wall);
                    let wakers = log.waiters.take();
                    self.wake_readers(wakers);
                    positions.push((place, end));
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.map(|()| positions)
    }

    fn writable(&mut self, place: &TopicPartition, topic: uuid::Uuid) -> Result<&mut super::log::Log> {
        self.denials
            .check(&Resource::Topic(place.topic.clone()), Operation::Write)?;
        if super::core::same_topic(self, &place.topic, topic) {
            self.topics.log_mut(place)
        } else {
            Err(unknown(place))
        }
    }
}
