//! A record as a test receives it: whole, owned, with typed looks into its bytes.

use std::{fmt, marker::PhantomData, sync::Arc};

use kproc_store::codec::{Codec, DecodeError, Own};

use super::DriverError;
use crate::record::{Headers, Offset, Partition, Record, Timestamp, TopicPartition};

/// A record that a topic has received, with everything in it. Items borrow from it.
///
/// ```
/// # use kproc::testing::Received;
/// fn check(record: &Received<String, i64>) -> kproc::Result<()> {
///     assert_eq!(record.key()?, Some("plum"));
///     assert_eq!(record.value()?, None); // a tombstone
///     assert_eq!(record.headers().get("trace"), Some(Some(&b"7"[..])));
///     Ok(())
/// }
/// ```
pub struct Received<K, V> {
    topic: Arc<str>,
    partition: Partition,
    offset: Offset,
    timestamp: Option<Timestamp>,
    key: Option<Box<[u8]>>,
    value: Option<Box<[u8]>>,
    headers: Box<[u8]>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Received<K, V> {
    pub(super) fn new(topic: Arc<str>, record: &Record<'_>) -> Self {
        Self {
            topic,
            partition: record.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key.map(Box::from),
            value: record.value.map(Box::from),
            headers: Box::from(record.headers.encoded()),
            types: PhantomData,
        }
    }

    /// The partition it was written to.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Its place in the partition.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// Its timestamp.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.timestamp
    }

    /// Its headers.
    pub fn headers(&self) -> Headers<'_> {
        Headers::from_encoded(&self.headers)
    }

    /// The key's bytes; `None`: null.
    pub fn key_bytes(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    /// The value's bytes; `None`: null.
    pub fn value_bytes(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    fn unreadable(&self, part: Part, error: DecodeError) -> DriverError {
        DriverError::Unreadable {
            place: TopicPartition::new(self.topic.clone(), self.partition),
            offset: self.offset,
            part: part.name(),
            error,
        }
    }

    fn null(&self, part: Part) -> DriverError {
        DriverError::Null {
            place: TopicPartition::new(self.topic.clone(), self.partition),
            offset: self.offset,
            part: part.name(),
        }
    }
}

#[derive(Clone, Copy)]
enum Part {
    Key,
    Value,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}

impl<K: Codec, V: Codec> Received<K, V> {
    /// The key's item; `None`: null.
    pub fn key(&self) -> Result<Option<K::Item<'_>>, DriverError> {
        let key = self.key.as_deref().map(K::decode).transpose();
        key.map_err(|error| self.unreadable(Part::Key, error))
    }

    /// The value's item; `None`: null.
    pub fn value(&self) -> Result<Option<V::Item<'_>>, DriverError> {
        let value = self.value.as_deref().map(V::decode).transpose();
        value.map_err(|error| self.unreadable(Part::Value, error))
    }

    /// Key and value in their owned forms. A null is an error here: it has no owned form.
    pub fn owned(&self) -> Result<(K::Owned, V::Owned), DriverError>
    where
        K: Own,
        V: Own,
    {
        let key = self.key()?.ok_or_else(|| self.null(Part::Key))?;
        let value = self.value()?.ok_or_else(|| self.null(Part::Value))?;
        Ok((K::own(key), V::own(value)))
    }
}

/// Place, key and value in their text forms: `totals[0]@3: "plum" = 7`.
impl<K: Codec, V: Codec> fmt::Debug for Received<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]@{}: ", self.topic, self.partition, self.offset)?;
        write_text::<K>(f, self.key_bytes())?;
        f.write_str(" = ")?;
        write_text::<V>(f, self.value_bytes())
    }
}

fn write_text<C: Codec>(f: &mut fmt::Formatter<'_>, bytes: Option<&[u8]>) -> fmt::Result {
    match bytes {
        None => f.write_str("null"),
        Some(bytes) => match C::to_text(bytes) {
            Ok(text) => write!(f, "{text}"),
            Err(_) => write!(f, "{bytes:02x?}"),
        },
    }
}
