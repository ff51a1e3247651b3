//! The task, as seen by a handler.

use kproc_store::{
    Timestamp,
    codec::{Codec, Encode, EncodeError},
};

use crate::{Record, Topic, outbox::Outbox};

/// What `send` takes for a key or a value: `&item`, `Option` of it, or [`Null`].
///
/// Never the item by value: were both possible, clippy (`needless_borrows_for_generic_args`) would complain
/// about every `&total`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent where the topic holds `{C}`",
    label = "the topic holds `{C}`",
    note = "pass a reference to the item, an `Option` of one, or `Null`"
)]
pub trait Payload<C: Codec> {
    /// Appends the bytes to `out`; `false`: it is null.
    fn write(&self, out: &mut Vec<u8>) -> Result<bool, EncodeError>;
}

impl<C: Codec, T: Encode<C> + ?Sized> Payload<C> for &T {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) -> Result<bool, EncodeError> {
        <T as Encode<C>>::encode(self, out)?;
        Ok(true)
    }
}

impl<C: Codec, P: Payload<C>> Payload<C> for Option<P> {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) -> Result<bool, EncodeError> {
        match self {
            Some(payload) => payload.write(out),
            None => Ok(false),
        }
    }
}

/// The null key or value. (A bare `None` has no type to infer.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Null;

impl<C: Codec> Payload<C> for Null {
    fn write(&self, _: &mut Vec<u8>) -> Result<bool, EncodeError> {
        Ok(false)
    }
}

/// A record that cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The key or value cannot be written.
    #[error("cannot send to topic `{topic}`: {error}")]
    Encode {
        /// The topic.
        topic: String,
        /// What is wrong.
        error: EncodeError,
    },
}

/// The task, as seen by a handler. `'r` is the life of the record.
pub struct Context<'r> {
    pub(crate) outbox: &'r mut Outbox,
    pub(crate) record: Option<&'r Record<'r>>,
    pub(crate) stream_time: Option<Timestamp>,
}

#[allow(clippy::todo)]
impl Context<'_> {
    /// Sends a record.
    pub fn send<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
        key: impl Payload<K>,
        value: impl Payload<V>,
    ) -> Result<(), SendError> {
        let _ = (topic, key, value);
        todo!()
    }

    /// The highest timestamp that the task has seen; `None` before the first.
    pub fn stream_time(&self) -> Option<Timestamp> {
        self.stream_time
    }
}
