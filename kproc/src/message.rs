//! Sending: at once, or as a message with headers, a partition, a timestamp of its own.

use std::fmt;

use kproc_store::codec::{Codec, EncodeError};

use crate::{
    Topic,
    outbox::{Draft, Outbox, Refused, TopicId},
    payload::{KeyPayload, Payload},
    record::{Headers, Partition, Timestamp},
};

/// A record that cannot be sent. Nothing of it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The key or value cannot be written.
    #[error("cannot send to topic `{topic}`: {error}")]
    Encode {
        /// The topic, by its name in the program.
        topic: String,
        /// What is wrong.
        error: EncodeError,
    },
    /// Too much waits to be sent.
    #[error(
        "cannot send to topic `{topic}`: one record or timer may send {limit} bytes in all, \
         and this would be more; send less at a time"
    )]
    Full {
        /// The topic, by its name in the program.
        topic: String,
        /// How many bytes may wait.
        limit: usize,
    },
    /// The topic takes no record so large.
    #[error(
        "cannot send to topic `{topic}`: the record ({}) takes {size} bytes, and the topic takes {limit} at most; what \
         counts is its size alone in a batch, before compression. Send less, or raise the topic's setting \
         `max.message.bytes`",
        told(*key_hash)
    )]
    TooLarge {
        /// The topic, by its name in the program.
        topic: String,
        /// The hash of its key, as Kafka's partitioner has it; `None`: the key is null.
        key_hash: Option<u32>,
        /// What the record takes.
        size: usize,
        /// What the topic takes.
        limit: usize,
    },
    /// The topic does not have that partition.
    #[error(
        "cannot send to partition {partition} of topic `{topic}`: it has {partitions} partitions, numbered from 0"
    )]
    NoPartition {
        /// The topic, by its name in the program.
        topic: String,
        /// The partition.
        partition: Partition,
        /// How many it has.
        partitions: u32,
    },
    /// There is no such topic in the cluster.
    #[error("cannot send to topic `{topic}`: the cluster has no topic of this name; make it")]
    NoTopic {
        /// The topic, by its name in the program.
        topic: String,
    },
    /// The topic's name is kept for changelogs.
    #[error(
        "cannot send to topic `{topic}`: its name in the cluster, `{target}`, is kept for the changelogs of this \
         application, from which state is restored; use a topic of your own"
    )]
    Reserved {
        /// The topic, by its name in the program.
        topic: String,
        /// Its name in the cluster.
        target: String,
    },
    /// The moment is one that a Kafka record cannot carry.
    #[error(
        "cannot send to topic `{topic}`: its timestamp would be {timestamp}, and Kafka knows none before 1970"
    )]
    Timestamp {
        /// The topic, by its name in the program.
        topic: String,
        /// The timestamp.
        timestamp: Timestamp,
    },
}

/// A record on its way out, made by [`Context::message`](crate::Context::message). It is not sent before
/// [`send`](Message::send).
#[must_use = "a message is only sent by `.send()`"]
pub struct Message<'m> {
    outbox: &'m mut Outbox,
    /// `None` once it was sent, or could not be.
    draft: Option<Draft>,
    error: Option<SendError>,
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<'m> Message<'m> {
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a payload is itself a reference")]
    pub(crate) fn new<K: Codec, V: Codec>(
        outbox: &'m mut Outbox,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
        timestamp: Option<Timestamp>,
    ) -> Self {
        let number = outbox.topic(topic);
        let mut draft = outbox.draft(number);
        draft.timestamp = timestamp;
        let mut message = Self {
            outbox,
            draft: None,
            error: None,
        };
        match message.outbox.write(|out| key.write(out)).and_then(|key| {
            draft.key = key;
            draft.value = message.outbox.write(|out| value.write(out))?;
            Ok(())
        }) {
            Ok(()) => message.draft = Some(draft),
            Err(error) => {
                message.outbox.scrap(&draft);
                message.error = Some(encode_error(topic, error));
            }
        }
        message
    }

    /// Adds a header. A name may be added several times; their order is kept.
    pub fn header(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.add_header(name.as_ref(), Some(value.as_ref()));
        self
    }

    /// Adds a header whose value is null, which is not the same as empty.
    pub fn null_header(mut self, name: impl AsRef<[u8]>) -> Self {
        self.add_header(name.as_ref(), None);
        self
    }

    /// Adds headers as they came, such as those of the present record.
    pub fn headers(self, headers: Headers<'_>) -> Self {
        if self.draft.is_some() {
            self.outbox.add_headers(headers);
        }
        self
    }

    /// Sends it to this partition, whatever its key.
    pub fn partition(mut self, partition: Partition) -> Self {
        if let Some(draft) = &mut self.draft {
            draft.partition = Some(partition);
        }
        self
    }

    /// Gives it this timestamp instead of the present record's or timer's.
    pub fn timestamp(mut self, timestamp: Timestamp) -> Self {
        if let Some(draft) = &mut self.draft {
            draft.timestamp = Some(timestamp);
        }
        self
    }

    /// Sends it.
    #[inline]
    pub fn send(mut self) -> Result<(), SendError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Some(draft) = self.draft.take() else {
            return Ok(());
        };
        post(self.outbox, draft)
    }

    fn add_header(&mut self, name: &[u8], value: Option<&[u8]>) {
        if self.draft.is_some() {
            self.outbox.add_header(name, value);
        }
    }
}

/// What was not sent leaves no bytes behind.
impl Drop for Message<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            self.outbox.scrap(draft);
        }
    }
}

/// Sends a record without headers.
#[inline]
pub(crate) fn send<K: Codec, V: Codec>(
    outbox: &mut Outbox,
    topic: &Topic<K, V>,
    key: &impl KeyPayload<K>,
    value: &impl Payload<V>,
    timestamp: Option<Timestamp>,
) -> Result<(), SendError> {
    let number = outbox.topic(topic);
    let mut draft = outbox.draft(number);
    draft.timestamp = timestamp;
    let written = outbox
        .write(|out| key.write(out))
        .and_then(|key| Ok((key, outbox.write(|out| value.write(out))?)));
    match written {
        Ok((key, value)) => {
            (draft.key, draft.value) = (key, value);
            post(outbox, draft)
        }
        Err(error) => {
            outbox.scrap(&draft);
            Err(encode_error(topic, error))
        }
    }
}

#[inline]
fn post(outbox: &mut Outbox, draft: Draft) -> Result<(), SendError> {
    if draft
        .timestamp
        .is_some_and(|timestamp| timestamp < Timestamp::EPOCH)
    {
        return Err(timestamp_error(outbox, &draft));
    }
    let topic = draft.topic;
    outbox
        .post(draft)
        .map_err(|refused| refused_error(outbox, topic, refused))
}

#[cold]
fn encode_error<K, V>(topic: &Topic<K, V>, error: EncodeError) -> SendError {
    let topic = topic.name().to_owned();
    SendError::Encode { topic, error }
}

#[cold]
fn timestamp_error(outbox: &mut Outbox, draft: &Draft) -> SendError {
    outbox.scrap(draft);
    SendError::Timestamp {
        topic: outbox.name(draft.topic).to_owned(),
        timestamp: draft.timestamp.unwrap_or(Timestamp::EPOCH),
    }
}

#[cold]
fn refused_error(outbox: &Outbox, number: TopicId, refused: Refused) -> SendError {
    let topic = outbox.name(number).to_owned();
    match refused {
        Refused::Full => SendError::Full {
            topic,
            limit: Outbox::MAX_BYTES,
        },
        Refused::TooLarge { key, size, limit } => SendError::TooLarge {
            topic,
            key_hash: key,
            size,
            limit,
        },
        Refused::NoPartition {
            partition,
            partitions,
        } => SendError::NoPartition {
            topic,
            partition,
            partitions,
        },
        Refused::NoTopic => SendError::NoTopic { topic },
        Refused::Reserved => SendError::Reserved {
            topic,
            target: outbox.target(number).to_owned(),
        },
    }
}

fn told(hash: Option<u32>) -> String {
    hash.map_or_else(
        || "with a null key".to_owned(),
        |hash| format!("key hash {hash:08x}"),
    )
}
