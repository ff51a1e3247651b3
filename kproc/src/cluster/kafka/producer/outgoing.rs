//! Records on their way to librdkafka.
//!
//! With idempotence, librdkafka (2.12) has one request at a time on its way for each partition, and while it waits
//! for the answer, its thread spins over whatever else is older than `linger.ms`. So it gets no more while it writes:
//! what is sent meanwhile gathers here, and is handed over in one go when all is written. That happens on the thread
//! that hears of what was written, beside the worker's own.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
};

use super::{
    super::{
        error::failed_step,
        native::{Client, Code, NativeError, TopicHandle},
        verdicts::Step,
    },
    answers::Answers,
    deliveries::not_written,
};
use crate::{
    cluster::{ClusterError, ClusterErrorKind, Result},
    outbox::{Outbox, OutgoingRecord, Parcel},
};

/// How many emptied parcels are kept for the next records.
const SPARE: usize = 4;

/// An emptied parcel that takes more memory than this is not kept.
const LARGEST_SPARE: usize = 1 << 20;

/// So many records are handed over with one look at the clock: one for each would take a twentieth of all time. (They are far fewer
/// than what librdkafka may have, and writes nevertheless.)
const UNSEEN: u32 = 16;

/// What a record takes in librdkafka besides its bytes, with room for two.
const RECORD: usize = 128;

/// Where records are handed over to: librdkafka, and in tests what may do the same at the worst of times.
pub(super) trait Sink {
    /// What whoever hands over has at hand.
    type Topics: Default;

    /// How many records are not written yet, or were not heard of.
    fn unwritten(&self) -> usize;
    /// Takes a record, or refuses it. `known`: which of its topics it is for, as far as that was looked up.
    fn produce(
        &self,
        topics: &mut Self::Topics,
        known: &mut Option<usize>,
        record: &OutgoingRecord<'_>,
    ) -> Result<std::result::Result<(), NativeError>>;
}

/// Records that wait to be handed over.
pub(super) struct Outgoing<S: Sink = Arc<Client>> {
    sink: S,
    /// The transactional id, if there is one.
    id: Option<String>,
    /// How many bytes may wait, and how many are handed over in one go.
    limit: usize,
    waiting: Mutex<Waiting>,
    /// Whoever holds it hands over, in order. It is held for as long as that takes, the other one never.
    hands: Mutex<Hands<S::Topics>>,
    /// What waits is not to be handed over any more, if there were none for too long; `None`: it is in any case.
    answers: Option<Answers>,
}

#[derive(Default)]
struct Waiting {
    /// With when there was the last answer, as far as there is something to be answered.
    parcels: VecDeque<(Parcel, u64)>,
    /// Since when there is something to be answered.
    since: u64,
    /// How many parcels are not handed over, the one in hand included.
    count: usize,
    /// What is in them.
    bytes: usize,
    spare: Vec<Parcel>,
}

#[derive(Default)]
struct Hands<T> {
    topics: T,
    parcel: Option<InHand>,
}

struct InHand {
    parcel: Parcel,
    since: u64,
    /// The next record of it.
    next: usize,
    /// Where in `topics` each of its topics is, as far as it was looked up.
    topics: Vec<Option<usize>>,
}

/// Who wants records to be handed over, and with it when that is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// If nothing is on its way.
    Good,
    /// Now.
    Now,
}

impl<S: Sink> Outgoing<S> {
    pub(super) fn new(sink: S, id: Option<String>, limit: usize, answers: Option<Answers>) -> Self {
        Self {
            sink,
            id,
            limit,
            waiting: Mutex::default(),
            hands: Mutex::default(),
            answers,
        }
    }

    /// A broker has written something. What waits is not handed over any more if it has waited for that too long: the process
    /// has stood still then, or was cut off. (What librdkafka has already it writes, if it can within its `message.timeout.ms`.)
    pub(super) fn heard(&self) {
        if let Some(answers) = &self.answers {
            answers.heard();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing can fail under the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of which step records are: with transactions or without.
    pub(super) fn step(&self) -> Step {
        match self.id {
            Some(_) => Step::Record,
            None => Step::Delivery,
        }
    }

    /// Takes all records of an outbox.
    pub(super) fn add(&self, records: &mut Outbox) {
        let mut waiting = self.waiting();
        let since = self.answers.as_ref().map_or(0, |answers| {
            // Whoever sends something after so long without an answer has asked the group before.
            let nothing = waiting.count == 0 && self.sink.unwritten() == 0;
            if nothing || answers.is_stale(waiting.since) {
                waiting.since = answers.now();
            }
            waiting.since.max(answers.last())
        });
        let mut parcel = waiting.spare.pop().unwrap_or_default();
        parcel.take(records);
        waiting.count += 1;
        waiting.bytes += parcel.bytes();
        waiting.parcels.push_back((parcel, since));
    }

    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.waiting().bytes <= self.limit
    }

    /// Whether all was handed over.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting().count == 0
    }

    /// Forgets what was not handed over.
    pub(super) fn forget(&self) {
        let mut hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner);
        hands.parcel = None;
        *self.waiting() = Waiting::default();
    }

    /// Hands over what waits, if it is time, as far as librdkafka takes it. `tell` gets an error for each record that it
    /// does not take at all, before that record no longer counts as waiting: who finds nothing waiting has been told of
    /// all that was refused.
    pub(super) fn hand_over(&self, when: When, mut tell: impl FnMut(ClusterError)) {
        // What comes while somebody else hands over, and finds nobody to do it, is seen by that one afterwards.
        while self.is_time(when) {
            let mut hands = match self.hands.try_lock() {
                Ok(hands) => hands,
                Err(TryLockError::Poisoned(hands)) => hands.into_inner(),
                Err(TryLockError::WouldBlock) if when == When::Good => break,
                Err(TryLockError::WouldBlock) => self.hands.lock().unwrap_or_else(PoisonError::into_inner),
            };
            let left = self.hand_over_all(&mut hands, &mut tell);
            drop(hands);
            // Asked only now: whoever hears of something on its way comes here after this, and finds nobody. Who heard of the
            // last of it before has found us, and has left what is left to us.
            if left && self.sink.unwritten() > 0 {
                break;
            }
        }
    }

    fn is_time(&self, when: When) -> bool {
        let nothing = self.waiting().count == 0;
        !nothing && (when == When::Now || self.sink.unwritten() == 0)
    }

    /// Hands over until nothing is left, or this was enough for now, or librdkafka is full. Whether something is left.
    fn hand_over_all(&self, hands: &mut Hands<S::Topics>, tell: &mut impl FnMut(ClusterError)) -> bool {
        let (mut bytes, mut is_told) = (0, false);
        loop {
            let Some(mut parcel) = hands.parcel.take().or_else(|| self.next_parcel()) else {
                return false;
            };
            let (mut unseen, mut is_stale) = (0, false);
            while let Some(record) = parcel.parcel.get(parcel.next) {
                if bytes > self.limit {
                    hands.parcel = Some(parcel);
                    return true;
                }
                // The process may stand still between any two.
                if unseen == 0 {
                    unseen = UNSEEN;
                    is_stale = self.is_stale(parcel.since);
                }
                unseen -= 1;
                if is_stale {
                    if !is_told {
                        tell(stale(record.topic));
                        is_told = true;
                    }
                    parcel.next += 1;
                    continue;
                }
                let known = &mut parcel.topics[record.topic_id.index()];
                let mut outcome = self.sink.produce(&mut hands.topics, known, &record);
                if is_full(&outcome) {
                    if self.sink.unwritten() > 0 {
                        hands.parcel = Some(parcel);
                        return true;
                    }
                    // What was in its way was written just now, or nothing was.
                    outcome = self.sink.produce(&mut hands.topics, known, &record);
                }
                match outcome {
                    Ok(Ok(())) => bytes += size(&record) + RECORD,
                    // Room for a record that is larger than all of it will never be made.
                    _ if is_full(&outcome) => tell(too_large(&record)),
                    Ok(Err(error)) => tell(self.refused(&record, &error)),
                    Err(error) => tell(error),
                }
                parcel.next += 1;
            }
            self.put_away(parcel.parcel);
        }
    }

    fn is_stale(&self, since: u64) -> bool {
        self.answers
            .as_ref()
            .is_some_and(|answers| answers.is_stale(since))
    }

    fn next_parcel(&self) -> Option<InHand> {
        let (parcel, since) = self.waiting().parcels.pop_front()?;
        Some(InHand {
            topics: vec![None; parcel.topics()],
            since,
            next: 0,
            parcel,
        })
    }

    fn put_away(&self, parcel: Parcel) {
        let mut waiting = self.waiting();
        waiting.count -= 1;
        waiting.bytes -= parcel.bytes();
        if waiting.spare.len() < SPARE && parcel.capacity() <= LARGEST_SPARE {
            waiting.spare.push(parcel);
        }
    }

    #[cold]
    fn refused(&self, record: &OutgoingRecord<'_>, error: &NativeError) -> ClusterError {
        match &self.id {
            Some(id) if error.fatal => failed_step(id, Step::Record, error),
            _ => {
                let place = format_args!("topic `{}`", record.topic);
                not_written(self.step(), record.topic, place, size(record), error)
            }
        }
    }
}

/// Bytes of key and value.
fn size(record: &OutgoingRecord<'_>) -> usize {
    record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len)
}

/// Whether librdkafka has no room.
fn is_full(outcome: &Result<std::result::Result<(), NativeError>>) -> bool {
    matches!(outcome, Ok(Err(error)) if error.code == Code::RD_KAFKA_RESP_ERR__QUEUE_FULL)
}

#[cold]
fn too_large(record: &OutgoingRecord<'_>) -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::RecordTooLarge,
        format_args!(
            "a record of {} bytes (key and value) for topic `{}` was not written: it is larger than what the property \
             `queue.buffering.max.kbytes` leaves for all records together",
            size(record),
            record.topic
        ),
    )
}

#[cold]
fn stale(topic: &str) -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::Retriable,
        format_args!(
            "records for topic `{topic}` and others were not written: they have waited while this process stood still, or was cut \
             off from the brokers, and somebody else may have its partitions"
        ),
    )
}

/// The topics that records were handed over for.
#[derive(Default)]
pub(super) struct Topics {
    topics: Vec<TopicHandle>,
    /// Where in `topics`.
    numbers: BTreeMap<Arc<str>, usize>,
}

impl Sink for Arc<Client> {
    type Topics = Topics;

    fn unwritten(&self) -> usize {
        Client::unwritten(self)
    }

    fn produce(
        &self,
        topics: &mut Topics,
        known: &mut Option<usize>,
        record: &OutgoingRecord<'_>,
    ) -> Result<std::result::Result<(), NativeError>> {
        let number = match *known {
            Some(number) => number,
            None => match topics.number(self, record.topic)? {
                Ok(number) => *known.insert(number),
                Err(error) => return Ok(Err(error)),
            },
        };
        Ok(topics.topics[number].produce(record))
    }
}

impl Topics {
    #[cold]
    fn number(
        &mut self,
        client: &Arc<Client>,
        name: &Arc<str>,
    ) -> Result<std::result::Result<usize, NativeError>> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(Ok(*number));
        }
        Ok(TopicHandle::new(client, name)?.map(|handle| {
            self.topics.push(handle);
            self.numbers.insert(name.clone(), self.topics.len() - 1);
            self.topics.len() - 1
        }))
    }
}

#[cfg(test)]
mod tests;
