//! An assigned partition's records.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use super::{
    super::{
        Shared,
        client_thread::ClientThread,
        error::{failed, kind_of},
        native::{Code, NativeError, PartitionList, Queue as NativeQueue, take_batch},
    },
    lock,
};
use crate::{
    batch::Batch,
    cluster::{ClusterError, ClusterErrorKind, Queue, Result, SeekTo},
    record::{Offset, TopicPartition},
};

/// How long a seek waits for its turn in librdkafka before it looks whether it is still wanted.
const SEEK_TIMEOUT: i32 = 500;

/// How long a partition may take until it can be sought in, after it was assigned.
const SEEK_PAUSE: Duration = Duration::from_millis(5);

/// Reads a partition for as long as the assignment lasts; then it falls silent.
pub(super) struct KafkaQueue {
    place: TopicPartition,
    queue: Arc<NativeQueue>,
    seeks: Arc<ClientThread>,
    shared: Arc<Shared>,
    /// The assignment has ended.
    over: Arc<AtomicBool>,
    seek: Arc<Mutex<Seek>>,
    position: Option<Offset>,
    /// That there was nothing more at the position, and what the high watermark was then.
    end_seen: Option<i64>,
    /// Came behind the records that were shown last.
    error: Option<ClusterError>,
}

/// How far the last seek is.
#[derive(Default)]
struct Seek {
    /// Counts seeks, so that an old one knows that it is.
    number: u64,
    /// `None`: on its way.
    outcome: Option<std::result::Result<(), NativeError>>,
    /// librdkafka has stopped fetching, after an error.
    stopped: bool,
}

impl KafkaQueue {
    pub(super) fn new(
        place: TopicPartition,
        queue: NativeQueue,
        seeks: Arc<ClientThread>,
        over: Arc<AtomicBool>,
        shared: Arc<Shared>,
    ) -> Self {
        queue.notify();
        Self {
            place,
            queue: Arc::new(queue),
            seeks,
            shared,
            over,
            seek: Arc::default(),
            position: None,
            end_seen: None,
            error: None,
        }
    }

    fn high_watermark(&self) -> Option<i64> {
        Some(self.queue.client().known_ends(&self.place)?.1)
    }

    /// Whether there may be anything to read.
    fn is_sought(&self) -> Result<bool> {
        let seek = lock(&self.seek);
        if seek.number == 0 {
            let message = format_args!("{} was polled before it was given a position", self.place);
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        match &seek.outcome {
            None => Ok(false),
            Some(Ok(())) => Ok(true),
            Some(Err(error)) => Err(failed(format_args!("cannot seek in {}", self.place), error)),
        }
    }

    /// What an error is to the reader; `None`: nothing, librdkafka goes on by itself.
    fn judge(&self, error: &NativeError) -> Option<ClusterError> {
        match kind_of(error.code) {
            ClusterErrorKind::Retriable => {
                self.shared.config.log.trouble("consumer", error);
                None
            }
            ClusterErrorKind::OffsetOutOfRange => {
                lock(&self.seek).stopped = true;
                Some(out_of_range(&self.place, self.position, error))
            }
            _ => Some(failed(format_args!("cannot read {}", self.place), error)),
        }
    }
}

impl Queue for KafkaQueue {
    fn poll_batch(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Batch>> {
        // The waker first, then the look.
        self.queue.register(cx.waker());
        if self.over.load(Ordering::SeqCst) {
            return Poll::Pending;
        }
        if let Some(error) = self.error.take() {
            return Poll::Ready(Err(error));
        }
        match self.is_sought() {
            Ok(true) => {}
            Ok(false) => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        }
        loop {
            let found = take_batch(&self.queue, max.max(1));
            if found.next.is_some() {
                self.position = found.next;
                self.end_seen = found.end.then(|| self.high_watermark()).flatten();
            }
            let error = found.error.and_then(|error| self.judge(&error));
            if found.batch.remaining() > 0 {
                // Nothing of before the end of the assignment is handed out after it.
                if self.over.load(Ordering::SeqCst) {
                    return Poll::Pending;
                }
                self.error = error;
                return Poll::Ready(Ok(found.batch));
            }
            if let Some(error) = error {
                return Poll::Ready(Err(error));
            }
            if found.next.is_none() {
                return Poll::Pending;
            }
        }
    }

    fn seek(&mut self, to: SeekTo) {
        let (offset, position) = match to {
            SeekTo::At(offset) => (offset.get() as i64, Some(offset)),
            SeekTo::Earliest => (PartitionList::BEGINNING, None),
            SeekTo::Latest => (PartitionList::END, None),
        };
        self.position = position;
        self.end_seen = None;
        self.error = None;
        let number = {
            let mut seek = lock(&self.seek);
            seek.number += 1;
            seek.outcome = None;
            seek.number
        };
        let job = SeekJob {
            place: self.place.clone(),
            offset,
            number,
            queue: self.queue.clone(),
            over: self.over.clone(),
            seek: self.seek.clone(),
        };
        self.seeks.run(move || job.run());
    }

    fn position(&self) -> Option<Offset> {
        self.position
    }

    fn known_end(&self) -> Option<Offset> {
        let position = self.position?;
        let high = self.high_watermark()?;
        if self.end_seen == Some(high) {
            return Some(position);
        }
        Some(Offset::new(high as u64).max(position))
    }
}

#[cold]
fn out_of_range(place: &TopicPartition, from: Option<Offset>, error: &NativeError) -> ClusterError {
    let from = from.map_or_else(|| "the place".to_owned(), |offset| format!("offset {offset}"));
    ClusterError::new(
        ClusterErrorKind::OffsetOutOfRange,
        format_args!("{place} does not have {from} that was to be read next: {error}"),
    )
}

/// A seek on its way.
struct SeekJob {
    place: TopicPartition,
    offset: i64,
    number: u64,
    queue: Arc<NativeQueue>,
    over: Arc<AtomicBool>,
    seek: Arc<Mutex<Seek>>,
}

impl SeekJob {
    /// Seeks, and fetches from there. What is in the queue from before is not shown any more after that.
    fn run(self) {
        while !self.over.load(Ordering::SeqCst) && lock(&self.seek).number == self.number {
            let outcome = match self.step() {
                // It is not fetched yet: its assignment, or the end of the one before, is still on its way.
                Err(error) if error.code == Code::RD_KAFKA_RESP_ERR__STATE => {
                    std::thread::sleep(SEEK_PAUSE);
                    continue;
                }
                Err(error) if kind_of(error.code) == ClusterErrorKind::Retriable => continue,
                outcome => outcome,
            };
            let mut seek = lock(&self.seek);
            if seek.number == self.number {
                seek.outcome = Some(outcome);
                drop(seek);
                self.queue.wake();
            }
            return;
        }
    }

    fn step(&self) -> std::result::Result<(), NativeError> {
        let client = self.queue.client();
        let list = PartitionList::of([(&self.place, self.offset)])
            .map_err(|error| NativeError::with(Code::RD_KAFKA_RESP_ERR__INVALID_ARG, error.message))?;
        if std::mem::take(&mut lock(&self.seek).stopped) {
            return client.reassign(&list);
        }
        client.seek(&list, SEEK_TIMEOUT)?;
        client.resume(&list);
        Ok(())
    }
}
