//! A producer with transactions, as an instance sees it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    core::Shared,
    driver::Verb,
    link::{Answer, Link},
    member::EmbeddedGroup,
    pieces::Spread,
    producer::unheard,
    transactions::Licence,
};
use crate::{
    clock::BoxFuture,
    cluster::{ClusterError, ClusterErrorKind, Group, OffsetCommit, Positions, Producer, Result},
    outbox::Outbox,
    record::{Offset, TopicPartition},
};

/// How long a client waits before it asks again what has become of a transaction.
const PAUSE: Duration = Duration::from_millis(20);

/// Kafka's default of `transaction.timeout.ms`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A producer with transactions. They begin with their first record or offset.
pub(super) struct TransactionalProducer {
    shared: Arc<Shared>,
    link: Link,
    id: String,
    timeout: Duration,
    licence: Option<Licence>,
    /// The answer that `init` waits for.
    initializing: Option<Answer<Licence>>,
    spread: Spread,
    /// Handed over, and not yet flushed.
    sent: Vec<Answer<Positions>>,
    /// Where records were written since the last flush.
    positions: BTreeMap<TopicPartition, Offset>,
    state: State,
    /// When the transaction began.
    begun: Duration,
}

#[derive(Clone)]
enum State {
    /// There is no transaction.
    Idle,
    Begun,
    /// It can only be aborted.
    Poisoned,
    /// The producer is of no more use.
    Dead(ClusterError),
}

impl TransactionalProducer {
    pub(super) fn new(shared: Arc<Shared>, link: Link, id: String, timeout: Option<Duration>) -> Self {
        let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
        let (spread, sent, positions) = (Spread::new(), Vec::new(), BTreeMap::new());
        Self {
            shared,
            link,
            id,
            timeout,
            licence: None,
            initializing: None,
            spread,
            sent,
            positions,
            state: State::Idle,
            begun: Duration::ZERO,
        }
    }

    fn licence(&self) -> Result<Licence> {
        if let State::Dead(error) = &self.state {
            return Err(error.clone());
        }
        self.licence.clone().ok_or_else(|| {
            let message = format_args!("the producer `{}` was used before `init`", self.id);
            ClusterError::new(ClusterErrorKind::Fatal, message)
        })
    }

    fn hand_over(&mut self, records: &mut Outbox) -> Result<()> {
        let licence = self.licence();
        if self.link.is_severed() {
            records.clear();
            self.sent.push(unheard(&self.link, Verb::ProduceInTransaction));
            self.begin();
            return licence.map(drop);
        }
        let (pieces, problem) = self
            .shared
            .split(records, &mut self.spread, Some(self.shared.driver.wall()));
        records.clear();
        let licence = licence?;
        if problem.is_err() {
            self.state = State::Poisoned;
        }
        if !pieces.is_empty() {
            let shared = self.shared.clone();
            let write =
                move || shared.with(|core| core.write_in_transaction(&*shared.driver, &licence, pieces));
            self.sent.push(self.link.call(Verb::ProduceInTransaction, write));
            self.begin();
        }
        problem
    }

    fn begin(&mut self) {
        if matches!(self.state, State::Idle) {
            self.state = State::Begun;
            self.begun = self.link.driver().now();
        }
    }

    /// Remembers what an error means for what comes next.
    fn note(&mut self, error: &ClusterError) {
        self.state = match error.kind {
            ClusterErrorKind::Fenced | ClusterErrorKind::ProducerFailed | ClusterErrorKind::Unknown => {
                State::Dead(error.clone())
            }
            _ => State::Poisoned,
        };
    }

    async fn settle_sent(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for answer in std::mem::take(&mut self.sent) {
            match answer.await {
                Ok(written) => self.positions.extend(written),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.inspect_err(|error| self.note(error))
    }

    /// Decides the transaction. Without an answer it is asked for again, for as long as the transaction can be undecided:
    /// whoever has decided it says so again.
    async fn end(&mut self, licence: Licence, committed: bool) -> Result<()> {
        let driver = self.link.driver().clone();
        let deadline = self.begun.saturating_add(self.timeout);
        let outcome = loop {
            let (shared, licence) = (self.shared.clone(), licence.clone());
            let end = move || shared.with(|core| core.end_transaction(&*shared.driver, &licence, committed));
            match self.link.call(Verb::EndTransaction, end).await {
                Err(error) if error.kind == ClusterErrorKind::Unknown && driver.now() < deadline => {
                    driver.sleep_until(driver.now() + PAUSE).await;
                }
                outcome => break outcome,
            }
        };
        match &outcome {
            Ok(()) => self.state = State::Idle,
            Err(error) => self.note(error),
        }
        outcome
    }

    async fn send_offsets(
        &mut self,
        group: Arc<dyn Group>,
        licence: Licence,
        offsets: Vec<OffsetCommit>,
    ) -> Result<()> {
        let Some(group) = group.as_any().downcast_ref::<EmbeddedGroup>() else {
            let message = "the group belongs to another kind of cluster";
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        };
        self.begin();
        let epoch = group.proof(&offsets).inspect_err(|error| self.note(error))?;
        let (shared, name, id) = (self.shared.clone(), group.name.clone(), group.id);
        let send = move || {
            let member = (&*name, id, epoch);
            shared.with(|core| core.send_offsets(&*shared.driver, &licence, member, offsets))
        };
        let outcome = self.link.call(Verb::SendOffsets, send).await;
        outcome.inspect_err(|error| self.note(error))
    }
}

impl Producer for TransactionalProducer {
    fn init(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            let (shared, id, timeout) = (&self.shared, &self.id, self.timeout);
            let answer = self.initializing.get_or_insert_with(|| {
                let (shared, id) = (shared.clone(), id.clone());
                let init = move || shared.with(|core| core.init_transactions(&*shared.driver, &id, timeout));
                self.link.call(Verb::InitTransactions, init)
            });
            let licence = answer.await;
            self.initializing = None;
            self.licence = Some(licence?);
            Ok(())
        })
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
            self.licence()?;
            self.settle_sent().await?;
            Ok(std::mem::take(&mut self.positions).into_iter().collect())
        })
    }

    fn commit(
        &mut self,
        group: Arc<dyn Group>,
        offsets: Vec<OffsetCommit>,
    ) -> BoxFuture<'_, Result<Positions>> {
        Box::pin(async move {
            let licence = self.licence()?;
            self.settle_sent().await?;
            if matches!(self.state, State::Poisoned) {
                let message = format_args!(
                    "the transaction of `{}` cannot be committed: a record of it was not written, or its offsets were \
                     refused",
                    self.id
                );
                return Err(ClusterError::new(ClusterErrorKind::AbortTransaction, message));
            }
            if !offsets.is_empty() {
                self.send_offsets(group, licence.clone(), offsets).await?;
            }
            if matches!(self.state, State::Begun) {
                self.end(licence, true).await?;
            }
            Ok(std::mem::take(&mut self.positions).into_iter().collect())
        })
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            let licence = self.licence()?;
            // What becomes of the records does not matter any more, unless it says that we are fenced.
            let _settled = self.settle_sent().await;
            self.licence()?;
            self.positions.clear();
            if matches!(self.state, State::Idle) {
                return Ok(());
            }
            self.end(licence, false).await
        })
    }
}
