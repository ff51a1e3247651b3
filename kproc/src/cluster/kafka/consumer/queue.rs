//! An assigned partition's records.

use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use super::{
    super::{
        Shared,
        error::{failed, forbidden, kind_of},
        log::Log,
        native::{
            Code, NativeError, OffsetSpec, PartitionList, Queue as NativeQueue, list_offset, take_batch,
        },
        verdicts::Step,
    },
    lock,
    lookout::Lookout,
    membership::End,
    seeks::Seeks,
};
use crate::{
    batch::Batch,
    cluster::{ClusterError, ClusterErrorKind, Isolation, Operation, Queue, Resource, Result, SeekTo},
    record::{Offset, TopicPartition},
};

/// How long a seek waits for its turn in librdkafka before it looks whether it is still wanted.
const SEEK_TIMEOUT: i32 = 2000;

/// How long to wait until a seek is tried again. A partition that was just assigned can soon be sought in; brokers that
/// are away may stay away for longer.
const SEEK_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_SEEK_PAUSE: Duration = Duration::from_millis(200);

/// Reads a partition for as long as the assignment lasts; then it falls silent.
pub(super) struct KafkaQueue {
    place: TopicPartition,
    /// The partition's next assignment to this member shares it, perhaps while this object is still here.
    queue: Arc<NativeQueue>,
    seeks: Arc<Seeks>,
    lookout: Arc<Lookout>,
    shared: Arc<Shared>,
    end: Arc<End>,
    seek: Arc<Mutex<Seek>>,
    isolation: Isolation,
    /// The last seek was to wherever the partition begins.
    earliest: bool,
    position: Option<Offset>,
    /// Came behind the records that were shown last.
    error: Option<ClusterError>,
}

/// How far the last seek is.
#[derive(Default)]
struct Seek {
    /// Counts seeks, so that an old one knows that it is.
    number: u64,
    /// Where it has gone to. `None`: it is on its way.
    outcome: Option<std::result::Result<Offset, NativeError>>,
    /// librdkafka has stopped fetching, after this error.
    stopped: Option<NativeError>,
}

impl KafkaQueue {
    pub(super) fn new(
        place: TopicPartition,
        queue: NativeQueue,
        seeks: Arc<Seeks>,
        lookout: Arc<Lookout>,
        end: Arc<End>,
        shared: Arc<Shared>,
        isolation: Isolation,
    ) -> Self {
        queue.notify();
        Self {
            place,
            queue: Arc::new(queue),
            seeks,
            lookout,
            shared,
            end,
            seek: Arc::default(),
            isolation,
            earliest: false,
            position: None,
            error: None,
        }
    }

    /// Moves the position past markers at the end of what was taken.
    fn pass_markers(&mut self) {
        let passed = self.queue.client().position(&self.place);
        let passed = passed
            .and_then(|offset| u64::try_from(offset).ok())
            .map(Offset::new);
        self.position = self.position.max(passed);
    }

    /// Whether there may be anything to read.
    fn is_sought(&mut self) -> Result<bool> {
        let seek = lock(&self.seek);
        if seek.number == 0 {
            let message = format_args!("{} was polled before it was given a position", self.place);
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        match &seek.outcome {
            None => Ok(false),
            Some(Ok(offset)) => {
                self.position = self.position.or(Some(*offset));
                Ok(true)
            }
            Some(Err(error)) => Err(failed(format_args!("cannot seek in {}", self.place), error)),
        }
    }

    /// Whether the partition was to be read from where it begins, and nothing of it was read yet.
    fn is_at_start(&self) -> bool {
        let seek = lock(&self.seek);
        let start = seek.outcome.as_ref().and_then(|outcome| outcome.as_ref().ok());
        self.earliest && start.is_some_and(|start| self.position == Some(*start))
    }

    /// The next records.
    fn take(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Batch>> {
        // The waker first, then the look.
        self.queue.register(cx.waker());
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
            let error = found.error.and_then(|error| self.judge(&error));
            if found.batch.remaining() > 0 {
                self.position = found.next;
                self.error = error;
                return Poll::Ready(Ok(found.batch));
            }
            match error {
                // Its first records were deleted between the question where they are and the first fetch.
                Some(error) if error.kind == ClusterErrorKind::OffsetOutOfRange && self.is_at_start() => {
                    tracing::warn!(place = %self.place, "records were deleted before they could be read; reading begins behind them");
                    self.seek(SeekTo::Earliest);
                    return Poll::Pending;
                }
                Some(error) => return Poll::Ready(Err(error)),
                None if found.any => {}
                None => {
                    self.pass_markers();
                    if self.known_end().is_none() {
                        self.lookout.add(&self.place, &self.queue);
                    }
                    return Poll::Pending;
                }
            }
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
                lock(&self.seek).stopped = Some(error.clone());
                Some(out_of_range(&self.place, self.position, error))
            }
            _ => {
                let principal = self.shared.config.principal();
                let topic = Resource::Topic(self.place.topic.clone());
                let what = format_args!("cannot read {}", self.place);
                Some(forbidden(
                    Step::Other,
                    what,
                    error,
                    principal.as_deref(),
                    &topic,
                    Operation::Read,
                ))
            }
        }
    }
}

impl Queue for KafkaQueue {
    fn poll_batch(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Batch>> {
        // Whoever came later would take the records of the partition's next assignment, or its wake-ups.
        let end = self.end.clone();
        end.before(|| self.take(cx, max)).unwrap_or(Poll::Pending)
    }

    fn seek(&mut self, to: SeekTo) {
        self.position = match to {
            SeekTo::At(offset) => Some(offset),
            SeekTo::Earliest | SeekTo::Latest => None,
        };
        self.earliest = to == SeekTo::Earliest;
        self.error = None;
        let number = {
            let mut seek = lock(&self.seek);
            seek.number += 1;
            seek.outcome = None;
            seek.number
        };
        let job = SeekJob {
            place: self.place.clone(),
            to,
            isolation: self.isolation,
            number,
            queue: self.queue.clone(),
            seeks: self.seeks.clone(),
            end: self.end.clone(),
            seek: self.seek.clone(),
            log: self.shared.config.log.clone(),
        };
        self.seeks.run(move || job.run());
    }

    fn position(&self) -> Option<Offset> {
        self.position
    }

    fn known_end(&self) -> Option<Offset> {
        let position = self.position?;
        let (_, high) = self.queue.client().known_ends(&self.place)?;
        let end = Offset::new(high.max(0) as u64);
        // Before the position, it is from before others had the partition.
        (end >= position).then_some(end)
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
    to: SeekTo,
    isolation: Isolation,
    number: u64,
    queue: Arc<NativeQueue>,
    seeks: Arc<Seeks>,
    end: Arc<End>,
    seek: Arc<Mutex<Seek>>,
    log: Arc<Log>,
}

impl SeekJob {
    /// Seeks, and fetches from there. What is in the queue from before is not shown any more after that.
    fn run(self) {
        let mut pause = SEEK_PAUSE;
        while !self.end.has_come() && lock(&self.seek).number == self.number {
            let outcome = match self.step() {
                // It is not fetched yet: its assignment, or the end of the one before, is still on its way. Or a rebalance is.
                Err(error) if error.code == Code::RD_KAFKA_RESP_ERR__STATE => {
                    std::thread::sleep(SEEK_PAUSE);
                    continue;
                }
                Err(error) if kind_of(error.code) == ClusterErrorKind::Retriable => {
                    self.log.trouble("seek", &error);
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_SEEK_PAUSE);
                    continue;
                }
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

    fn step(&self) -> std::result::Result<Offset, NativeError> {
        let client = self.queue.client();
        let offset = match self.to {
            SeekTo::At(offset) => offset,
            SeekTo::Earliest => self.ask(OffsetSpec::Earliest)?,
            SeekTo::Latest if self.isolation == Isolation::ReadCommitted => self.ask(OffsetSpec::Stable)?,
            SeekTo::Latest => self.ask(OffsetSpec::Latest)?,
        };
        // Not librdkafka's name for the first record: it asks for its place once more, and as the partition is resumed
        // meanwhile, half a second later again.
        let target = offset.get() as i64;
        let list = PartitionList::of([(&self.place, target)]).map_err(invalid)?;
        let stopped = lock(&self.seek).stopped.clone();
        if let Some(error) = stopped {
            // Not after the end, when librdkafka may have left the group, and gives no answer any more.
            let reassign = || self.end.before(|| client.reassign(&list));
            let Some(reassigned) = self.seeks.reassign(reassign).flatten() else {
                return Err(NativeError::of(Code::RD_KAFKA_RESP_ERR__STATE));
            };
            lock(&self.seek).stopped = None;
            // The classic protocol cannot: it stays as it was.
            reassigned.map_err(|_| error)?;
        } else {
            client.seek(&list, SEEK_TIMEOUT)?;
            client.resume(&list);
        }
        Ok(offset)
    }

    fn ask(&self, spec: OffsetSpec) -> std::result::Result<Offset, NativeError> {
        let call = list_offset(self.queue.client(), &self.place, spec).map_err(invalid)?;
        call.wait(Duration::from_millis(SEEK_TIMEOUT as u64))
    }
}

fn invalid(error: ClusterError) -> NativeError {
    NativeError::with(Code::RD_KAFKA_RESP_ERR__INVALID_ARG, error.message)
}
