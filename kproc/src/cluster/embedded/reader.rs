//! Reading partitions outside any group.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use super::{core::Shared, driver::Verb, link::Link, queue::out_of_range};
use crate::{
    clock::BoxFuture,
    cluster::{Isolation, Operation, ReadBatch, Reader, Resource, Result, Watermarks},
    record::{Offset, TopicPartition},
};

/// A reader of any partition.
pub(super) struct EmbeddedReader {
    pub(super) shared: Arc<Shared>,
    pub(super) link: Link,
    pub(super) isolation: Isolation,
    pub(super) waiter: u64,
}

impl Reader for EmbeddedReader {
    fn watermarks(&mut self, partition: TopicPartition) -> BoxFuture<'_, Result<Watermarks>> {
        let shared = self.shared.clone();
        let ask = move || {
            shared.with(|core| {
                let topic = Resource::Topic(partition.topic.clone());
                core.denials.check(&topic, Operation::Describe)?;
                Ok(core.topics.log(&partition)?.watermarks())
            })
        };
        Box::pin(self.link.call(Verb::Watermarks, ask))
    }

    fn read(
        &mut self,
        partition: TopicPartition,
        from: Offset,
        max: usize,
        wait: Duration,
    ) -> BoxFuture<'_, Result<ReadBatch>> {
        Box::pin(async move {
            let driver = self.link.driver().clone();
            let deadline = driver.now().saturating_add(wait);
            loop {
                let found = self.look(partition.clone(), from, driver.batch_size(max)).await?;
                if found.batch.remaining() > 0 || found.next > from || driver.now() >= deadline {
                    return Ok(found);
                }
                self.more(&partition, from, deadline).await;
            }
        })
    }
}

impl EmbeddedReader {
    async fn look(&self, place: TopicPartition, from: Offset, max: usize) -> Result<ReadBatch> {
        let (shared, isolation) = (self.shared.clone(), self.isolation);
        let request = move || {
            shared.with(|core| {
                let topic = Resource::Topic(place.topic.clone());
                core.denials.check(&topic, Operation::Read)?;
                let found = core.topics.log(&place)?.read(from, max, isolation);
                let (batch, next) = found.map_err(|range| out_of_range(&place, from, &range))?;
                Ok(ReadBatch { batch, next })
            })
        };
        self.link.call(Verb::Read, request).await
    }

    /// Waits until there is something after `from`, or until the deadline.
    async fn more(&self, place: &TopicPartition, from: Offset, deadline: Duration) {
        let mut sleep = self.link.driver().sleep_until(deadline);
        let _waiting = Waiting { reader: self, place };
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let more = self.shared.with(|core| {
                // A partition that is gone is for the next look to report.
                let Ok(log) = core.topics.log_mut(place) else {
                    return true;
                };
                let old = log.waiters.store(self.waiter, waker);
                let more = log.limit(self.isolation) > from;
                core.drop_later(old);
                more
            });
            if more {
                Poll::Ready(())
            } else {
                sleep.as_mut().poll(cx)
            }
        })
        .await;
    }
}

/// Takes the reader's waker back.
struct Waiting<'r> {
    reader: &'r EmbeddedReader,
    place: &'r TopicPartition,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.reader.shared.with(|core| {
            if let Ok(log) = core.topics.log_mut(self.place) {
                let waker = log.waiters.forget(self.reader.waiter);
                core.drop_later(waker);
            }
        });
    }
}
