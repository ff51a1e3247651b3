//! An assigned partition's records.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use uuid::Uuid;

use super::{
    core::{Core, Shared},
    driver::Verb,
    link::Link,
    log::OutOfRange,
};
use crate::{
    batch::Batch,
    cluster::{ClusterError, ClusterErrorKind, Isolation, Operation, Queue, Resource, Result, SeekTo},
    record::{Offset, TopicPartition},
};

/// Reads a partition for as long as the assignment lasts; then it falls silent, as librdkafka's queues do.
pub(super) struct EmbeddedQueue {
    pub(super) shared: Arc<Shared>,
    pub(super) link: Link,
    pub(super) place: TopicPartition,
    pub(super) topic: Uuid,
    pub(super) isolation: Isolation,
    pub(super) waiter: u64,
    /// The assignment has ended.
    pub(super) over: Arc<AtomicBool>,
    pub(super) position: Option<Offset>,
    /// Where it shall go, as long as the cluster could not be asked where that is.
    pub(super) sought: Option<SeekTo>,
    /// The place that [`SeekTo::Earliest`] was. While the position is there, it may still become a later one.
    pub(super) first: Option<Offset>,
}

impl EmbeddedQueue {
    fn resolve(&mut self) {
        let Some(to) = self.sought else { return };
        self.position = match to {
            SeekTo::At(offset) => Some(offset),
            _ if self.link.is_severed() => return,
            SeekTo::Earliest => self.ask(|log| log.start),
            SeekTo::Latest => self.ask(|log| log.limit(self.isolation)),
        };
        if self.position.is_some() {
            self.first = self.position.filter(|_| to == SeekTo::Earliest);
            self.sought = None;
        }
    }

    fn ask<T>(&self, question: impl FnOnce(&super::log::Log) -> T) -> Option<T> {
        self.shared
            .with(|core| core.topics.log(&self.place).ok().map(question))
    }

    /// Whether the partition is that of the assignment, and not of a later topic with the same name.
    fn check_topic(&self, core: &Core) -> Result<()> {
        if super::core::same_topic(core, &self.place.topic, self.topic) {
            return Ok(());
        }
        let message = format_args!("topic `{}` was deleted, {} is gone", self.place.topic, self.place);
        Err(ClusterError::new(ClusterErrorKind::UnknownTopic, message))
    }
}

impl Queue for EmbeddedQueue {
    fn poll_batch(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Batch>> {
        if self.over.load(Ordering::SeqCst) {
            return Poll::Pending;
        }
        self.resolve();
        self.link.refuse(Verb::Fetch)?;
        let max = self.link.driver().batch_size(max).clamp(1, max.max(1));
        let waker = cx.waker().clone();
        let (mut position, severed) = (self.position, self.link.is_severed());
        let first = self.first.filter(|first| position == Some(*first));
        let found = self.shared.with(|core| {
            self.check_topic(core)?;
            let topic = Resource::Topic(self.place.topic.clone());
            core.denials.check(&topic, Operation::Read)?;
            let log = core.topics.log_mut(&self.place)?;
            // Under the lock nothing can come between the waker and the look.
            let old = log.waiters.store(self.waiter, waker);
            if first.is_some() {
                position = position.max(Some(log.start));
            }
            let found = match position {
                Some(position) if !severed => Some(log.read(position, max, self.isolation)),
                _ => None,
            };
            core.drop_later(old);
            match found {
                Some(Ok(found)) => Ok(Some(found)),
                Some(Err(range)) => Err(out_of_range(
                    &self.place,
                    position.unwrap_or(Offset::ZERO),
                    &range,
                )),
                None => Ok(None),
            }
        });
        match found {
            Err(error) => Poll::Ready(Err(error)),
            Ok(Some((batch, next))) => {
                self.position = Some(next);
                if batch.remaining() > 0 {
                    Poll::Ready(Ok(batch))
                } else {
                    Poll::Pending
                }
            }
            Ok(None) if self.position.is_none() && self.sought.is_none() => {
                let message = format_args!("{} was polled before it was given a position", self.place);
                Poll::Ready(Err(ClusterError::new(ClusterErrorKind::Fatal, message)))
            }
            Ok(None) => Poll::Pending,
        }
    }

    fn seek(&mut self, to: SeekTo) {
        self.position = None;
        self.sought = Some(to);
        self.first = None;
        self.resolve();
    }

    fn position(&self) -> Option<Offset> {
        self.position
    }

    fn known_end(&self) -> Option<Offset> {
        self.position?;
        if self.link.is_severed() {
            None
        } else {
            self.ask(|log| log.limit(self.isolation))
        }
    }
}

impl Drop for EmbeddedQueue {
    fn drop(&mut self) {
        self.shared.with(|core| {
            if let Ok(log) = core.topics.log_mut(&self.place) {
                let waker = log.waiters.forget(self.waiter);
                core.drop_later(waker);
            }
        });
    }
}

#[cold]
pub(super) fn out_of_range(place: &TopicPartition, from: Offset, range: &OutOfRange) -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::OffsetOutOfRange,
        format_args!(
            "{place} has no offset {from}: it begins at {} and ends at {}",
            range.start, range.end
        ),
    )
}
