//! What became of records.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    thread,
};

use futures_util::task::AtomicWaker;

use super::{
    super::{
        client_thread::no_thread,
        error::{failed, forbidden, kind_of},
        log::Log,
        native::{Client, Code, Event, EventKind, NativeError, Queue, Transaction},
        statistics,
        verdicts::Step,
    },
    outgoing::{Outgoing, When},
};
use crate::{
    cluster::{ClusterError, ClusterErrorKind, Operation, Positions, Resource, Result},
    record::{Offset, Partition, TopicPartition},
};

/// How long a poll waits.
const POLL: i32 = 1000;

/// How long one call of flush waits, before it looks whether anybody is there.
const FLUSH: i32 = 250;

/// What was heard since the last flush.
pub(super) struct Deliveries {
    heard: Mutex<Heard>,
    room: AtomicWaker,
    /// The producer's events come here.
    pub(super) queue: Arc<Queue>,
    outgoing: Arc<Outgoing>,
    /// The producer was dropped.
    pub(super) gone: AtomicBool,
}

/// By the topic's address in the client, which holds it as long as the producer lives.
type ByTopic = BTreeMap<(usize, i32), (TopicPartition, Offset)>;

#[derive(Default)]
struct Heard {
    positions: ByTopic,
    failure: Option<ClusterError>,
}

impl Deliveries {
    /// Starts a thread that listens to a producer.
    pub(super) fn listen(client: &Arc<Client>, outgoing: Arc<Outgoing>, log: Arc<Log>) -> Result<Arc<Self>> {
        let deliveries = Arc::new(Self {
            heard: Mutex::default(),
            room: AtomicWaker::new(),
            queue: Arc::new(Queue::main(client)),
            outgoing,
            gone: AtomicBool::new(false),
        });
        let listener = deliveries.clone();
        let run = move || {
            while !listener.gone.load(Ordering::SeqCst) {
                if let Some(event) = listener.queue.poll(POLL) {
                    listener.hear(&event, &log);
                    // Its records count as unwritten as long as they are here.
                    drop(event);
                    if listener.gone.load(Ordering::SeqCst) {
                        return;
                    }
                    listener.hand_over(When::Good);
                    listener.room.wake();
                }
            }
        };
        thread::Builder::new()
            .name("kproc-kafka-sent".into())
            .spawn(run)
            .map_err(|error| no_thread(&error))?;
        Ok(deliveries)
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: &Event, log: &Log) {
        match event.kind() {
            EventKind::Deliveries => {
                let mut heard = self.lock();
                let mut is_written = false;
                event.deliveries(|delivery| match delivery.error {
                    None => {
                        is_written = true;
                        let Ok(offset) = u64::try_from(delivery.offset) else {
                            return;
                        };
                        let next = Offset::new(offset + 1);
                        let key = (delivery.topic, delivery.partition);
                        let entry = heard.positions.entry(key).or_insert_with(|| {
                            let partition = Partition::new(delivery.partition.max(0) as u32);
                            (TopicPartition::new(delivery.topic_name(), partition), next)
                        });
                        entry.1 = entry.1.max(next);
                    }
                    // Also what librdkafka has thrown away, for its transaction has failed. (What our own abort throws away
                    // is forgotten when that is done.)
                    Some(code) => {
                        let error = NativeError::of(code);
                        if heard.failure.is_none() {
                            let (topic, size) = (delivery.topic_name(), delivery.size());
                            let place = format_args!("{topic}[{}]", delivery.partition);
                            heard.failure =
                                Some(not_written(self.outgoing.step(), &topic, place, size, &error));
                        }
                    }
                });
                // Errors are made by the client itself, too, while nobody answers.
                if is_written {
                    self.outgoing.heard();
                }
            }
            EventKind::Error => {
                if let Some(error) = event.error() {
                    log.trouble("producer", &error);
                    if error.code == Code::RD_KAFKA_RESP_ERR__AUTHENTICATION && !error.is_missing_token() {
                        // Otherwise it would be found out only when the records' time is over.
                        let error = failed("a record was not written", &error);
                        self.lock().failure.get_or_insert(error);
                    }
                }
            }
            EventKind::Statistics => statistics::tell(&event.statistics()),
            EventKind::Rebalance | EventKind::Other => {}
        }
    }

    /// Hands over what waits. What is not taken is told by the next flush.
    fn hand_over(&self, when: When) {
        self.outgoing.hand_over(when, |error| {
            self.lock().failure.get_or_insert(error);
        });
    }

    /// Who is to be woken when there is room for more.
    pub(super) fn register(&self, waker: &Waker) {
        self.room.register(waker);
    }

    /// Blocks until all that was handed over is written or has failed.
    pub(super) fn flush(&self, client: &Client) -> Result<()> {
        loop {
            // A producer that was dropped writes as little as one that has crashed.
            if self.gone.load(Ordering::SeqCst) {
                let over = NativeError::of(Code::RD_KAFKA_RESP_ERR__DESTROY);
                return Err(failed("the producer was dropped while it wrote", &over));
            }
            self.hand_over(When::Now);
            // Asked before the wait: what the listener hands over while this waits is waited for by the next one.
            let all = self.outgoing.is_empty();
            match client.flush(FLUSH) {
                Ok(()) if all => return Ok(()),
                Ok(()) => {}
                // Each record has a time-out of its own, after which it has failed.
                Err(error) if kind_of(error.code) == ClusterErrorKind::Retriable => {}
                Err(error) => return Err(failed("waiting until records are written", &error)),
            }
        }
    }

    /// The first failure since this was last asked, if it is not to be taken.
    pub(super) fn failure(&self) -> Option<ClusterError> {
        self.lock().failure.clone()
    }

    /// Where records were written since this was last asked, or why one was not.
    pub(super) fn take(&self) -> Result<Positions> {
        let Heard { positions, failure } = std::mem::take(&mut *self.lock());
        failure.map_or_else(|| Ok(in_order(positions)), Err)
    }

    /// Where records were written since this was last asked. A failure that was told meanwhile is not of these, and stays
    /// for who asks next.
    pub(super) fn take_positions(&self) -> Positions {
        in_order(std::mem::take(&mut self.lock().positions))
    }

    /// Nothing of it matters any more, nor what was not handed over.
    pub(super) fn forget(&self) {
        self.outgoing.forget();
        *self.lock() = Heard::default();
    }
}

fn in_order(positions: ByTopic) -> Positions {
    let mut positions: Positions = positions.into_values().collect();
    positions.sort();
    positions
}

/// A record was not written.
#[cold]
pub(super) fn not_written(
    step: Step,
    topic: &str,
    place: impl std::fmt::Display,
    size: usize,
    error: &NativeError,
) -> ClusterError {
    let what = format_args!("a record of {size} bytes (key and value) for {place} was not written");
    let topic = Resource::Topic(topic.into());
    let error = forbidden(step, what, error, None, &topic, Operation::Write);
    match error.kind {
        ClusterErrorKind::RecordTooLarge => ClusterError::new(
            error.kind,
            format_args!("{error}. The topic's setting `max.message.bytes` says what it takes"),
        ),
        _ => error,
    }
}
