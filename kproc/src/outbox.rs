//! What a task has sent since it was last handed to the producer: one buffer of bytes, a mark per record.

use std::{fmt, sync::Arc};

use crate::{
    record::{Headers, Partition, Timestamp, encode_header},
    topic::AnyTopic,
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
}

struct Row {
    topic: TopicId,
    partition: Option<Partition>,
    timestamp: Option<Timestamp>,
    key: Span,
    value: Span,
    headers: Span,
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
    rows: usize,
}

/// Records on their way out, in order.
#[derive(Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    topics: Vec<OutboxTopic>,
}

struct OutboxTopic {
    /// The name in the cluster.
    target: Arc<str>,
    /// The topic as the program knows it; `None` for changelogs.
    topic: Option<AnyTopic>,
}

impl Outbox {
    /// The outbox is full: no more than this many bytes wait in it (a producer takes them long before).
    pub const MAX_BYTES: usize = u32::MAX as usize - 1;

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
        self.rows.iter().map(|row| OutgoingRecord {
            topic: &self.topics[row.topic.0 as usize].target,
            topic_id: row.topic,
            partition: row.partition,
            timestamp: row.timestamp,
            key: self.slice(row.key),
            value: self.slice(row.value),
            headers: Headers::from_encoded(self.slice(row.headers).unwrap_or_default()),
        })
    }

    /// Adds a record of bytes.
    ///
    /// # Panics
    /// If more than [`MAX_BYTES`](Self::MAX_BYTES) would wait.
    pub fn push_raw(&mut self, topic: &Arc<str>, record: &RawRecord<'_>) {
        let topic = self.topic_named(topic);
        let key = self.append(record.key);
        let value = self.append(record.value);
        let start = self.bytes.len() as u32;
        for (name, value) in record.headers {
            encode_header(name, *value, &mut self.bytes);
        }
        assert!(
            self.bytes.len() <= Self::MAX_BYTES,
            "an outbox holds {} bytes at most",
            Self::MAX_BYTES
        );
        let headers = Span {
            start,
            length: self.bytes.len() as u32 - start,
        };
        let (partition, timestamp) = (record.partition, record.timestamp);
        self.rows.push(Row {
            topic,
            partition,
            timestamp,
            key,
            value,
            headers,
        });
    }

    /// The number of the topic of this name in the cluster.
    fn topic_named(&mut self, target: &Arc<str>) -> TopicId {
        let known = self.topics.iter().position(|topic| topic.target == *target);
        let number = known.unwrap_or_else(|| {
            self.topics.push(OutboxTopic {
                target: target.clone(),
                topic: None,
            });
            self.topics.len() - 1
        });
        TopicId(number as u32)
    }

    fn append(&mut self, bytes: Option<&[u8]>) -> Span {
        let Some(bytes) = bytes else { return Span::NULL };
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        Span {
            start,
            length: bytes.len() as u32,
        }
    }

    /// Forgets the records, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// The topics that were ever sent to, with their text forms.
    pub(crate) fn topics(&self) -> impl Iterator<Item = &AnyTopic> {
        self.topics.iter().filter_map(|topic| topic.topic.as_ref())
    }

    fn slice(&self, span: Span) -> Option<&[u8]> {
        (span.length != u32::MAX).then(|| &self.bytes[span.start as usize..][..span.length as usize])
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
