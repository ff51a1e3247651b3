//! Writing records.
//!
//! Records gather while others are written, and are then handed to librdkafka ([`outgoing`]), which does not block;
//! calls that do are made on a thread of the producer's own; what became of records is heard on another
//! ([`deliveries`]). A transaction's steps are in [`transaction`].

mod answers;
mod deliveries;
mod outgoing;
mod transaction;

use std::{
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use self::{
    answers::Answers,
    deliveries::Deliveries,
    outgoing::{Outgoing, When},
    transaction::{Steps, no_transactions},
};
use super::{
    Shared,
    client_thread::{Answer, ClientThread},
    config::TRANSACTION_TIMEOUT,
    consumer::KafkaGroup,
    error::failed_step,
    limits,
    native::{Client, Kind, Transaction},
    verdicts::Step,
};
use crate::{
    clock::BoxFuture,
    cluster::{
        ClusterError, ClusterErrorKind, Group, OffsetCommit, Positions, Producer, ProducerOptions, Result,
    },
    outbox::Outbox,
};

/// A producer, with transactions or without.
pub(super) struct KafkaProducer {
    client: Arc<Client>,
    deliveries: Arc<Deliveries>,
    outgoing: Arc<Outgoing>,
    calls: ClientThread,
    /// The steps of its transactions, if it has any.
    steps: Option<Arc<Steps>>,
    /// The call that `init` waits for.
    initializing: Option<Answer<()>>,
    state: State,
    /// When the transaction began.
    begun: Duration,
}

/// How far a transaction is. Without transactions it is always idle.
enum State {
    /// `init` comes first.
    Uninitialized,
    /// There is no transaction.
    Idle,
    Begun,
    /// It can only be aborted.
    Poisoned,
    /// The producer is of no more use.
    Dead(ClusterError),
}

impl KafkaProducer {
    pub(super) fn new(shared: &Arc<Shared>, options: ProducerOptions) -> Result<Self> {
        let config = &shared.config;
        let client = shared.client(Kind::Producer, &config.producer(&options))?;
        let limit = options.buffer.unwrap_or(limits::BUFFER) / 2;
        let answers = options
            .stale_after
            .map(|after| Answers::new(after, config.clock.clone()));
        let id = options.transactional_id.clone();
        let outgoing = Arc::new(Outgoing::new(client.clone(), id, limit, answers));
        let deliveries = Deliveries::listen(&client, outgoing.clone(), config.log.clone())?;
        let steps = options.transactional_id.map(|id| {
            Arc::new(Steps {
                id,
                client: client.clone(),
                deliveries: deliveries.clone(),
                clock: config.clock.clone(),
                made: config.clock.now(),
                timeout: options.transaction_timeout.unwrap_or(TRANSACTION_TIMEOUT),
            })
        });
        Ok(Self {
            deliveries,
            calls: ClientThread::start("kproc-kafka-call")?,
            outgoing,
            state: if steps.is_some() {
                State::Uninitialized
            } else {
                State::Idle
            },
            begun: Duration::ZERO,
            initializing: None,
            steps,
            client,
        })
    }

    /// Whether the producer can be used at all.
    fn check(&self) -> Result<()> {
        match (&self.state, &self.steps) {
            (State::Dead(error), _) => Err(error.clone()),
            (State::Uninitialized, Some(steps)) => {
                let message = format_args!("the producer `{}` was used before `init`", steps.id);
                Err(ClusterError::new(ClusterErrorKind::Fatal, message))
            }
            _ => Ok(()),
        }
    }

    /// A transaction begins with its first record.
    fn begin(&mut self) -> Result<()> {
        let Some(steps) = &self.steps else { return Ok(()) };
        if matches!(self.state, State::Idle) {
            let begun = self.client.begin_transaction();
            begun.map_err(|error| failed_step(&steps.id, Step::Begin, &error))?;
            self.state = State::Begun;
            self.begun = steps.clock.now();
        }
        Ok(())
    }

    /// Remembers what an error means for what comes next.
    fn note(&mut self, error: &ClusterError) {
        if self.steps.is_none() {
            return;
        }
        self.state = match error.kind {
            ClusterErrorKind::Fenced | ClusterErrorKind::ProducerFailed | ClusterErrorKind::Unknown => {
                State::Dead(error.clone())
            }
            _ => State::Poisoned,
        };
    }
}

impl Producer for KafkaProducer {
    fn init(&mut self) -> BoxFuture<'_, Result<()>> {
        let Some(steps) = self.steps.clone() else {
            return Box::pin(async { Ok(()) });
        };
        Box::pin(async {
            let calls = &self.calls;
            let call = self
                .initializing
                .get_or_insert_with(|| calls.call(move || steps.init()));
            let outcome = call.await;
            self.initializing = None;
            match outcome {
                Ok(()) => {
                    self.state = State::Idle;
                    Ok(())
                }
                Err(error) => {
                    if matches!(
                        error.kind,
                        ClusterErrorKind::Fenced | ClusterErrorKind::ProducerFailed
                    ) {
                        self.state = State::Dead(error.clone());
                    }
                    Err(error)
                }
            }
        })
    }

    fn send<'a>(&'a mut self, records: &'a mut Outbox) -> BoxFuture<'a, Result<()>> {
        let begun = self
            .check()
            .and_then(|()| if records.is_empty() { Ok(()) } else { self.begin() });
        if let Err(error) = begun {
            records.clear();
            return Box::pin(std::future::ready(Err(error)));
        }
        self.outgoing.add(records);
        let mut refused = None;
        self.outgoing.hand_over(When::Good, |error| {
            refused.get_or_insert(error);
        });
        if let Some(error) = refused {
            self.note(&error);
            return Box::pin(std::future::ready(Err(error)));
        }
        Box::pin(async move {
            // Each delivery makes room.
            poll_fn(|cx| {
                self.deliveries.register(cx.waker());
                if self.outgoing.has_room() {
                    Poll::Ready(Ok(()))
                } else {
                    Poll::Pending
                }
            })
            .await
        })
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<Positions>> {
        if let Err(error) = self.check() {
            return Box::pin(std::future::ready(Err(error)));
        }
        let (client, deliveries) = (self.client.clone(), self.deliveries.clone());
        let call = self.calls.call(move || deliveries.flush(&client));
        Box::pin(async {
            let outcome = call.await.and_then(|()| self.deliveries.take());
            let outcome = outcome.map_err(|error| match &self.steps {
                Some(steps) => steps.of_failure(&error),
                None => error,
            });
            outcome.inspect_err(|error| self.note(error))
        })
    }

    fn commit(
        &mut self,
        group: Arc<dyn Group>,
        offsets: Vec<OffsetCommit>,
    ) -> BoxFuture<'_, Result<Positions>> {
        let Some(steps) = self.steps.clone() else {
            return Box::pin(std::future::ready(Err(no_transactions())));
        };
        Box::pin(async move {
            self.check()?;
            if matches!(self.state, State::Poisoned) {
                return Err(steps.poisoned());
            }
            let Some(group) = group.as_any().downcast_ref::<KafkaGroup>() else {
                let message = "the group belongs to another kind of cluster";
                return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
            };
            if offsets.is_empty() && matches!(self.state, State::Idle) {
                return self.deliveries.take();
            }
            let membership = group.membership.clone();
            let begun = self.begin();
            begun.inspect_err(|error| self.note(error))?;
            let begun = self.begun;
            let commit = move || steps.commit(begun, &membership, &offsets);
            let outcome = self.calls.call(commit).await;
            match outcome {
                Ok(()) => {
                    self.state = State::Idle;
                    // Whatever was heard since then, this is committed.
                    Ok(self.deliveries.take_positions())
                }
                Err(error) => {
                    self.note(&error);
                    Err(error)
                }
            }
        })
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        let Some(steps) = self.steps.clone() else {
            return Box::pin(std::future::ready(Err(no_transactions())));
        };
        Box::pin(async move {
            self.check()?;
            self.outgoing.forget();
            if !matches!(self.state, State::Idle) {
                let begun = self.begun;
                let outcome = self.calls.call(move || steps.abort(begun)).await;
                outcome.inspect_err(|error| self.note(error))?;
                self.state = State::Idle;
            }
            self.deliveries.forget();
            Ok(())
        })
    }
}

impl Drop for KafkaProducer {
    fn drop(&mut self) {
        self.deliveries.gone.store(true, Ordering::SeqCst);
        self.deliveries.queue.interrupt();
    }
}
