//! One record as a handler sees it, borrowed from its batch, and the names of places in a cluster.

use std::{fmt, sync::Arc};

use kproc_store::codec::{Codec, Data, DecodeError};
pub use kproc_store::{Offset, Timestamp};

use crate::{
    Topic,
    error::{Error, ErrorKind, Result},
};

/// A partition of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(u32);

impl Partition {
    /// The partition with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A partition of a named topic. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name in the cluster.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: Partition,
}

impl TopicPartition {
    /// This partition of this topic.
    pub fn new(topic: impl Into<Arc<str>>, partition: Partition) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }
}

/// As in log lines: `flights[3]`.
impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.topic, self.partition)
    }
}

/// One record, borrowed from its batch.
///
/// Key and value are `None` when they are null, which is not the same as empty.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Record<'r> {
    /// Which of the processor's inputs it came from: the number given in `declare`.
    pub input: usize,
    /// The partition it came from.
    pub partition: Partition,
    /// Its place in the partition.
    pub offset: Offset,
    /// Its timestamp; `None` if the producer set none (Kafka: -1).
    pub timestamp: Option<Timestamp>,
    /// The key's bytes; `None` if it is null.
    pub key: Option<&'r [u8]>,
    /// The value's bytes; `None` if it is null (a tombstone).
    pub value: Option<&'r [u8]>,
    /// The headers.
    pub headers: Headers<'r>,
}

impl<'r> Record<'r> {
    /// Key and value as the topic's codecs read them; `None` is null. An error is one of
    /// [`Deserialization`](ErrorKind::Deserialization), so that the policy for these decides.
    ///
    /// ```
    /// # use kproc::{Record, Result, Topic};
    /// const WORDS: Topic<String, i64> = Topic::new("words");
    ///
    /// fn length(record: &Record<'_>) -> Result<usize> {
    ///     let (word, _) = record.decode(&WORDS)?;
    ///     Ok(word.map_or(0, str::len))
    /// }
    /// ```
    #[inline]
    pub fn decode<K: Codec, V: Codec>(&self, _: &Topic<K, V>) -> Result<Decoded<'r, K, V>> {
        let key = self
            .key
            .map(K::decode)
            .transpose()
            .map_err(|error| unreadable("key", &error))?;
        let value = self
            .value
            .map(V::decode)
            .transpose()
            .map_err(|error| unreadable("value", &error))?;
        Ok((key, value))
    }
}

/// Key and value of a record; `None` is null.
pub type Decoded<'r, K, V> = (Option<<K as Data>::Item<'r>>, Option<<V as Data>::Item<'r>>);

#[cold]
fn unreadable(part: &str, error: &DecodeError) -> Error {
    Error::new(
        ErrorKind::Deserialization,
        format!("the record's {part} cannot be read: {error}"),
    )
}

/// A record's headers, in order; a name may come several times, and a value may be null.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'r> {
    /// Encoded by [`encode_header`], one after another.
    encoded: &'r [u8],
}

impl<'r> Headers<'r> {
    /// Headers as [`encode_header`] wrote them.
    pub(crate) const fn from_encoded(encoded: &'r [u8]) -> Self {
        Self { encoded }
    }

    /// The encoded form, to be copied as it is.
    pub(crate) const fn encoded(self) -> &'r [u8] {
        self.encoded
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.encoded.is_empty()
    }

    /// The headers in order: name and value (`None` if it is null). Names are bytes: Kafka does not check
    /// that they are UTF-8.
    pub fn iter(self) -> impl Iterator<Item = (&'r [u8], Option<&'r [u8]>)> {
        let mut rest = self.encoded;
        std::iter::from_fn(move || {
            let name = take_block(&mut rest)??;
            let value = take_block(&mut rest)?;
            Some((name, value))
        })
    }

    /// The value of the last header of this name: `None` if there is none, `Some(None)` if it is null.
    pub fn get(self, name: &str) -> Option<Option<&'r [u8]>> {
        self.iter()
            .filter(|header| header.0 == name.as_bytes())
            .last()
            .map(|header| header.1)
    }
}

const NULL: u32 = u32::MAX;

/// Appends a header to `out`.
pub(crate) fn encode_header(name: &[u8], value: Option<&[u8]>, out: &mut Vec<u8>) {
    for block in [Some(name), value] {
        let length = block.map_or(NULL, |block| block.len() as u32);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(block.unwrap_or_default());
    }
}

/// `None` at the end of the headers, `Some(None)` for a null.
#[expect(clippy::option_option, reason = "the end and a null are two things")]
fn take_block<'r>(rest: &mut &'r [u8]) -> Option<Option<&'r [u8]>> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    if length == NULL {
        *rest = after;
        return Some(None);
    }
    let (block, after) = after.split_at_checked(length as usize)?;
    *rest = after;
    Some(Some(block))
}
