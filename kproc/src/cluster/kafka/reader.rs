//! Reading partitions outside any group.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use futures_util::future::{Either, select, try_join3};

use super::{
    Shared,
    client_thread::Answer,
    connect::connected,
    error::{failed, kind_of},
    native::{
        Client, Found, Kind, NativeError, OffsetSpec, Queue, TopicHandle, describe_topics, list_offset,
        take_batch,
    },
};
use crate::{
    clock::BoxFuture,
    cluster::{ClusterError, ClusterErrorKind, Isolation, ReadBatch, Reader, Result, Watermarks},
    record::{Offset, TopicPartition},
};

/// How many clients wait for the next reader.
const POOL: usize = 4;

/// Clients of readers that are no more: a connection that stands saves the next reader some time.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<(Isolation, Arc<Client>)>>);

impl Pool {
    fn take(&self, isolation: Isolation) -> Option<Arc<Client>> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = clients.iter().position(|(it, _)| *it == isolation)?;
        Some(clients.swap_remove(place).1)
    }

    fn put(&self, isolation: Isolation, client: Arc<Client>) {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() < POOL && client.fatal_error().is_none() {
            clients.push((isolation, client));
        }
    }
}

/// A reader of any partition, which fetches ahead in the one that it read last.
pub(super) struct KafkaReader {
    shared: Arc<Shared>,
    isolation: Isolation,
    client: Arc<Client>,
    /// The client has a connection, or had one.
    connected: bool,
    open: Option<Open>,
}

/// A partition that is fetched.
struct Open {
    place: TopicPartition,
    topic: TopicHandle,
    queue: Queue,
    next: Offset,
    /// Came behind the records that were shown last.
    error: Option<NativeError>,
}

impl KafkaReader {
    pub(super) fn new(shared: Arc<Shared>, isolation: Isolation) -> Result<Self> {
        let (client, connected) = match shared.readers.take(isolation) {
            Some(client) => (client, true),
            None => (
                shared.client(Kind::Other, &shared.config.reader(isolation))?,
                false,
            ),
        };
        Ok(Self {
            shared,
            isolation,
            client,
            connected,
            open: None,
        })
    }

    async fn connect(&mut self) -> Result<()> {
        if !self.connected {
            connected(&self.client, &self.shared.config.clock).await?;
            self.connected = true;
        }
        Ok(())
    }

    /// librdkafka does not tell a partition without a leader from one that is not there.
    async fn check_exists(&self, place: &TopicPartition) -> Result<()> {
        let Ok(described) = describe_topics(&self.client, std::slice::from_ref(&place.topic))?.await else {
            return Ok(());
        };
        let there = described.iter().any(|(_, info)| match info {
            Ok(info) => place.partition.get() < info.partitions,
            Err(error) => kind_of(error.code) != ClusterErrorKind::UnknownTopic,
        });
        if there {
            return Ok(());
        }
        let message = format_args!("there is no {place}");
        Err(ClusterError::new(ClusterErrorKind::UnknownTopic, message))
    }

    /// Ends the fetching of a partition, which must be over before it is fetched anew.
    fn stop(&self, open: Open) -> Answer<()> {
        self.shared.stops.call(move || {
            open.stop();
            Ok(())
        })
    }

    /// Fetches this partition from there.
    async fn open(&mut self, place: &TopicPartition, from: Offset) -> Result<Open> {
        if let Some(open) = self.open.take() {
            if open.place == *place && open.next == from {
                return Ok(open);
            }
            self.stop(open).await?;
        }
        let what = || format!("cannot read {place}");
        let topic = TopicHandle::new(&self.client, &place.topic)?.map_err(|error| failed(what(), &error))?;
        let queue = Queue::new(&self.client);
        queue.notify();
        topic
            .start(place.partition, from, &queue)
            .map_err(|error| failed(what(), &error))?;
        Ok(Open {
            place: place.clone(),
            topic,
            queue,
            next: from,
            error: None,
        })
    }
}

impl Open {
    /// Ends the fetching. Blocks until librdkafka has done so.
    fn stop(self) {
        if let Err(error) = self.topic.stop(self.place.partition) {
            tracing::debug!(place = %self.place, %error, "could not stop reading");
        }
    }

    /// The next records, or what has come in their place; `None`: nothing yet.
    fn look(&mut self, max: usize) -> Option<std::result::Result<ReadBatch, NativeError>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        let Found {
            batch, next, error, ..
        } = take_batch(&self.queue, max.max(1));
        let before = self.next;
        self.next = next.unwrap_or(before);
        if batch.remaining() > 0 || self.next > before {
            self.error = error;
            return Some(Ok(ReadBatch {
                batch,
                next: self.next,
            }));
        }
        error.map(Err)
    }
}

impl Drop for KafkaReader {
    fn drop(&mut self) {
        let (shared, isolation) = (self.shared.clone(), self.isolation);
        let (client, open, connected) = (self.client.clone(), self.open.take(), self.connected);
        self.shared.stops.run(move || {
            if let Some(open) = open {
                open.stop();
            }
            if connected {
                shared.readers.put(isolation, client);
            }
        });
    }
}

impl Reader for KafkaReader {
    fn watermarks(&mut self, partition: TopicPartition) -> BoxFuture<'_, Result<Watermarks>> {
        Box::pin(async move {
            self.connect().await?;
            let ask = |spec| list_offset(&self.client, &partition, spec);
            let earliest = ask(OffsetSpec::Earliest)?;
            let (stable, latest) = (ask(OffsetSpec::Stable)?, ask(OffsetSpec::Latest)?);
            let (earliest, stable, latest) = match try_join3(earliest, stable, latest).await {
                Ok(answers) => answers,
                Err(error) => {
                    self.check_exists(&partition).await?;
                    return Err(failed(format_args!("the ends of {partition}"), &error));
                }
            };
            Ok(Watermarks {
                earliest,
                stable,
                latest,
            })
        })
    }

    fn read(
        &mut self,
        partition: TopicPartition,
        from: Offset,
        max: usize,
        wait: Duration,
    ) -> BoxFuture<'_, Result<ReadBatch>> {
        Box::pin(async move {
            let clock = self.shared.config.clock.clone();
            let deadline = clock.now().saturating_add(wait);
            self.connect().await?;
            let open = self.open(&partition, from).await?;
            let open = self.open.insert(open);
            loop {
                let looked = poll_fn(|cx| {
                    open.queue.register(cx.waker());
                    open.look(max).map_or(Poll::Pending, Poll::Ready)
                });
                let outcome = match select(looked, clock.sleep_until(deadline)).await {
                    Either::Left((outcome, _)) => outcome,
                    Either::Right(_) => {
                        return Ok(ReadBatch {
                            batch: crate::batch::Batch::default(),
                            next: from,
                        });
                    }
                };
                let error = match outcome {
                    Ok(read) => return Ok(read),
                    Err(error) => error,
                };
                if kind_of(error.code) == ClusterErrorKind::Retriable {
                    // librdkafka goes on by itself.
                    self.shared.config.log.trouble("reader", &error);
                    continue;
                }
                if let Some(open) = self.open.take() {
                    self.stop(open).await?;
                }
                return Err(failed(
                    format_args!("cannot read {partition} from offset {from}"),
                    &error,
                ));
            }
        })
    }
}
