//! A record on its way from a test into a topic.

use std::{fmt, sync::Arc};

use kproc_store::codec::{Codec, EncodeError};

use super::{DriverError, TestDriver};
use crate::{
    Topic,
    outbox::RawRecord,
    payload::{KeyPayload, Payload},
    record::{Partition, Timestamp},
};

/// A record to be sent, made by [`TestDriver::message`] or [`TestDriver::raw`]. It is not sent before
/// [`send`](Self::send).
#[must_use = "a message is only sent by `.send()` or `.enqueue()`"]
pub struct TestMessage<'d> {
    driver: &'d mut TestDriver,
    topic: Arc<str>,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    partition: Option<Partition>,
    timestamp: Option<Timestamp>,
    unwritable: Option<EncodeError>,
}

impl fmt::Debug for TestMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestMessage")
            .field("topic", &self.topic)
            .field("partition", &self.partition)
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}

impl<'d> TestMessage<'d> {
    pub(super) fn typed<K: Codec, V: Codec>(
        driver: &'d mut TestDriver,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
    ) -> Self {
        let mut message = Self::raw(driver, topic.name(), None, None);
        message.key = message.encode(move |out| key.write(out));
        message.value = message.encode(move |out| value.write(out));
        message
    }

    pub(super) fn raw(
        driver: &'d mut TestDriver,
        topic: &str,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Self {
        Self {
            topic: Arc::from(topic),
            key: key.map(<[u8]>::to_vec),
            value: value.map(<[u8]>::to_vec),
            headers: Vec::new(),
            partition: None,
            timestamp: Some(driver.timestamp()),
            unwritable: None,
            driver,
        }
    }

    fn encode(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<bool, EncodeError>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match write(&mut out) {
            Ok(present) => present.then_some(out),
            Err(error) => {
                self.unwritable.get_or_insert(error);
                None
            }
        }
    }

    /// Adds a header. A name may be added several times; their order is kept.
    pub fn header(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        let (name, value) = (name.as_ref().to_vec(), value.as_ref().to_vec());
        self.headers.push((name, Some(value)));
        self
    }

    /// Adds a header whose value is null, which is not the same as empty.
    pub fn null_header(mut self, name: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.as_ref().to_vec(), None));
        self
    }

    /// Sends it to this partition, whatever its key.
    pub fn partition(mut self, partition: Partition) -> Self {
        self.partition = Some(partition);
        self
    }

    /// Gives it this timestamp instead of the driver's.
    pub fn timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Gives it no timestamp at all, as very old producers do.
    pub fn without_timestamp(mut self) -> Self {
        self.timestamp = None;
        self
    }

    /// Writes it, and runs the application until nothing more happens.
    pub fn send(self) -> Result<(), DriverError> {
        self.write()?.settle()
    }

    /// Writes it without running the application: the next call of the driver does. So several records, of
    /// one topic or of several, wait together, as they do when an application comes late.
    pub fn enqueue(self) -> Result<(), DriverError> {
        self.write().map(drop)
    }

    fn write(self) -> Result<&'d mut TestDriver, DriverError> {
        if let Some(error) = self.unwritable {
            let topic = self.topic.to_string();
            return Err(DriverError::Encode { topic, error });
        }
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_slice(), value.as_deref()))
            .collect();
        let record = RawRecord {
            partition: self.partition,
            timestamp: self.timestamp,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: &headers,
        };
        self.driver.write(&self.topic, &record)?;
        Ok(self.driver)
    }
}
