//! What a task has sent since it was last handed to the producer: one buffer of bytes, a mark per record.

mod bindings;
mod limits;
#[cfg(feature = "kafka")]
mod parcel;
mod size;
mod topics;

use std::{fmt, sync::Arc};

use kproc_store::codec::{Codec, EncodeError};

#[cfg(feature = "kafka")]
pub(crate) use self::parcel::Parcel;
use self::topics::Topics;
pub(crate) use self::{
    bindings::Bindings,
    limits::{Limit, Limits},
    size::FRAMING,
};
use crate::{
    partitioner::murmur2,
    record::{Headers, Partition, Timestamp, encode_header},
    topic::Topic,
};

/// A topic of an [`Outbox`], by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicId(u32);

impl TopicId {
    /// The number: small, and given from zero on.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A range of the outbox's bytes, or null.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
}

impl Span {
    const NULL: Self = Self {
        start: 0,
        length: u32::MAX,
    };

    #[inline]
    fn of(self, bytes: &[u8]) -> Option<&[u8]> {
        (self.length != u32::MAX).then(|| &bytes[self.start as usize..][..self.length as usize])
    }
}

struct Row {
    topic: TopicId,
    partition: Option<Partition>,
    timestamp: Option<Timestamp>,
    key: Span,
    value: Span,
    headers: Span,
}

impl Row {
    #[inline]
    fn record<'o>(&self, bytes: &'o [u8], topic: &'o Arc<str>) -> OutgoingRecord<'o> {
        OutgoingRecord {
            topic,
            topic_id: self.topic,
            partition: self.partition,
            timestamp: self.timestamp,
            key: self.key.of(bytes),
            value: self.value.of(bytes),
            headers: Headers::from_encoded(self.headers.of(bytes).unwrap_or_default()),
        }
    }
}

/// A record to be produced, lent by an [`Outbox`].
#[derive(Debug, Clone, Copy)]
pub struct OutgoingRecord<'o> {
    /// The topic's name in the cluster.
    pub topic: &'o Arc<str>,
    /// The topic's number in this outbox.
    pub topic_id: TopicId,
    /// The partition; `None`: by the key, as Kafka's default partitioner does (murmur2; null keys spread).
    pub partition: Option<Partition>,
    /// The timestamp; `None`: the producer's clock.
    pub timestamp: Option<Timestamp>,
    /// The key; `None`: null.
    pub key: Option<&'o [u8]>,
    /// The value; `None`: null.
    pub value: Option<&'o [u8]>,
    /// The headers.
    pub headers: Headers<'o>,
}

/// A record of bytes, for who has no typed topic: feeding, tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct RawRecord<'r> {
    /// The partition; `None`: by the key.
    pub partition: Option<Partition>,
    /// The timestamp; `None`: the producer's clock.
    pub timestamp: Option<Timestamp>,
    /// The key; `None`: null.
    pub key: Option<&'r [u8]>,
    /// The value; `None`: null.
    pub value: Option<&'r [u8]>,
    /// The headers, in order; a value may be null.
    pub headers: &'r [(&'r [u8], Option<&'r [u8]>)],
}

/// A place to go back to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    bytes: usize,
    pub(crate) rows: usize,
}

/// Records on their way out, in order.
#[derive(Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    topics: Topics,
}

impl Outbox {
    /// The outbox is full: no more than this many bytes wait in it (a producer takes them long before).
    pub const MAX_BYTES: usize = u32::MAX as usize - 1;

    /// An empty outbox that renames topics.
    pub(crate) fn with_bindings(bindings: Arc<Bindings>) -> Self {
        Self {
            topics: Topics::new(bindings),
            ..Self::default()
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many records wait.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many bytes of keys, values and headers wait.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The present end.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark {
            bytes: self.bytes.len(),
            rows: self.rows.len(),
        }
    }

    /// Takes back what was added since `mark`.
    pub fn undo(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.rows.truncate(mark.rows);
    }

    /// The records that wait, in order.
    pub fn iter(&self) -> impl Iterator<Item = OutgoingRecord<'_>> {
        self.rows.iter().map(|row| self.record(row))
    }

    fn record(&self, row: &Row) -> OutgoingRecord<'_> {
        row.record(&self.bytes, self.topics.target(row.topic))
    }

    /// Adds a record of bytes. The topic's name is that in the cluster.
    ///
    /// # Panics
    /// If more than [`MAX_BYTES`](Self::MAX_BYTES) would wait.
    pub fn push_raw(&mut self, topic: &Arc<str>, record: &RawRecord<'_>) {
        let topic = self.topics.in_cluster(topic);
        let mut draft = self.draft(topic);
        draft.partition = record.partition;
        draft.timestamp = record.timestamp;
        draft.key = self.bytes_of(record.key);
        draft.value = self.bytes_of(record.value);
        for (name, value) in record.headers {
            self.add_header(name, *value);
        }
        assert!(
            self.append(&draft).is_ok(),
            "an outbox holds {} bytes at most",
            Self::MAX_BYTES
        );
    }

    /// Adds a record of a store's changelog. Fails if the outbox is full.
    pub(crate) fn push_changelog(
        &mut self,
        topic: TopicId,
        partition: Partition,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Refused> {
        let mut draft = self.draft(topic);
        draft.partition = Some(partition);
        draft.key = self.bytes_of(Some(key));
        draft.value = self.bytes_of(value);
        self.append(&draft).map(drop)
    }

    /// The number of a topic that is no topic of the program: a changelog.
    pub(crate) fn changelog(&mut self, topic: &Arc<str>) -> TopicId {
        self.topics.in_cluster(topic)
    }

    /// Forgets the records, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// The name of a topic in the program, or else in the cluster.
    pub(crate) fn name(&self, topic: TopicId) -> &str {
        self.topics.name(topic)
    }

    /// The name of a topic in the cluster.
    pub(crate) fn target(&self, topic: TopicId) -> &str {
        self.topics.target(topic)
    }

    /// The number of a topic.
    #[inline]
    pub(crate) fn topic<K: Codec, V: Codec>(&mut self, topic: &Topic<K, V>) -> TopicId {
        self.topics.number(topic)
    }

    /// Begins a record. Its bytes are written first, then it is posted, or else [dropped](Self::scrap).
    #[inline]
    pub(crate) fn draft(&self, topic: TopicId) -> Draft {
        Draft {
            begun: self.bytes.len(),
            topic,
            partition: None,
            timestamp: None,
            key: Written::NULL,
            value: Written::NULL,
        }
    }

    /// Writes a key or value; `write` says whether it is not null.
    #[inline]
    pub(crate) fn write(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, EncodeError>,
    ) -> Result<Written, EncodeError> {
        let start = self.bytes.len();
        if write(&mut self.bytes)? {
            Ok(Written {
                start,
                end: Some(self.bytes.len()),
            })
        } else {
            // Whatever a codec may have written before it said "null" is no part of the record.
            self.bytes.truncate(start);
            Ok(Written::NULL)
        }
    }

    /// Writes a header of the record that is being drafted, whose key and value are complete.
    pub(crate) fn add_header(&mut self, name: &[u8], value: Option<&[u8]>) {
        encode_header(name, value, &mut self.bytes);
    }

    /// Writes headers as they came.
    pub(crate) fn add_headers(&mut self, headers: Headers<'_>) {
        self.bytes.extend_from_slice(headers.encoded());
    }

    /// Completes a record: what was written since its value are its headers. Fails if the outbox is full, or the
    /// topic is known not to take it, and then drops it.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a draft is posted once")]
    pub(crate) fn post(&mut self, draft: Draft) -> Result<(), Refused> {
        let length = self.append(&draft)?;
        if self.topics.may_refuse(draft.topic, draft.partition, length)
            && let Some(refused) = self.rows.last().and_then(|row| self.refusal(row))
        {
            self.rows.pop();
            self.scrap(&draft);
            return Err(refused);
        }
        Ok(())
    }

    /// Completes a record, whatever its topic takes. Returns its length.
    #[inline]
    fn append(&mut self, draft: &Draft) -> Result<usize, Refused> {
        let end = self.bytes.len();
        if end > Self::MAX_BYTES {
            self.scrap(draft);
            return Err(Refused::Full);
        }
        let start = draft.value.end.or(draft.key.end).unwrap_or(draft.begun);
        self.rows.push(Row {
            topic: draft.topic,
            partition: draft.partition,
            timestamp: draft.timestamp,
            key: draft.key.span(),
            value: draft.value.span(),
            headers: Span {
                start: start as u32,
                length: (end - start) as u32,
            },
        });
        Ok(end - draft.begun)
    }

    /// Why the topic of a record does not take it, as far as that is known.
    #[cold]
    fn refusal(&self, row: &Row) -> Option<Refused> {
        let limit = self.topics.limit(row.topic)?;
        if limit == Limit::NO_TOPIC {
            return Some(Refused::NoTopic);
        }
        if limit == Limit::RESERVED {
            return Some(Refused::Reserved);
        }
        if let Some(partition) = row.partition
            && partition.get() >= limit.partitions
        {
            let partitions = limit.partitions;
            return Some(Refused::NoPartition {
                partition,
                partitions,
            });
        }
        let record = self.record(row);
        let size = record.size_in_batch();
        (size > limit.bytes).then(|| Refused::TooLarge {
            key: record.key.map(murmur2),
            size,
            limit: limit.bytes,
        })
    }

    /// Takes note of what was learned of topics since it last did.
    pub(crate) fn refresh(&mut self) {
        self.topics.refresh();
    }

    /// The topics sent to of which it is not known what they take.
    pub(crate) fn unknown_topics(&self) -> Vec<Arc<str>> {
        self.topics.unknown()
    }

    /// Whether a record waits that its topic does not take, as is known now.
    pub(crate) fn has_misfit(&self) -> bool {
        self.rows.iter().any(|row| self.refusal(row).is_some())
    }

    /// Drops an unfinished record.
    #[cold]
    pub(crate) fn scrap(&mut self, draft: &Draft) {
        self.bytes.truncate(draft.begun);
    }

    #[inline]
    fn bytes_of(&mut self, bytes: Option<&[u8]>) -> Written {
        let Some(bytes) = bytes else { return Written::NULL };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Written {
            start,
            end: Some(self.bytes.len()),
        }
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A record that is being written: its bytes lie at the outbox's end, key, value and headers in this order.
pub(crate) struct Draft {
    begun: usize,
    pub(crate) topic: TopicId,
    pub(crate) partition: Option<Partition>,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) key: Written,
    pub(crate) value: Written,
}

/// A key or value that was written, or null.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    start: usize,
    end: Option<usize>,
}

impl Written {
    const NULL: Self = Self { start: 0, end: None };

    /// Only within [`Outbox::MAX_BYTES`].
    fn span(self) -> Span {
        self.end.map_or(Span::NULL, |end| Span {
            start: self.start as u32,
            length: (end - self.start) as u32,
        })
    }
}

/// Why a record is not taken.
#[derive(Clone, Copy)]
pub(crate) enum Refused {
    /// The outbox holds [`Outbox::MAX_BYTES`].
    Full,
    /// The topic takes less.
    TooLarge {
        /// The key's hash; `None`: its key is null.
        key: Option<u32>,
        size: usize,
        limit: usize,
    },
    /// The topic does not have that partition.
    NoPartition { partition: Partition, partitions: u32 },
    /// There is no such topic.
    NoTopic,
    /// Its name is kept for changelogs.
    Reserved,
}
