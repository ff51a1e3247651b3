//! Codecs: what a topic or a store holds, and which Rust types go in and out of it.
//!
//! [`Data`] names the item. [`Codec`] reads it from a record's bytes, [`Encode`] writes it; the bytes are those
//! of Kafka's own Java serializers where those exist. [`KeyCodec`] and [`EncodeKey`] do the same in an
//! order-preserving way, for the keys of stores. [`FromItem`] says which types a handler may ask for.
//!
//! Every impl is concrete in the codec `C` (none is blanket over `C`), which is what lets `Json<T>` exist for
//! any `T` without overlap. What may be here: bytes to values and back. Nothing here knows of stores or topics.

mod boolean;
mod bytes;
mod error;
mod floats;
mod integers;
pub mod json;
mod option;
pub mod postcard;
mod prefix;
mod text;
mod timestamp;
mod tuples;
mod uuid;
mod void;

pub use error::{DecodeError, EncodeError};
pub use json::Json;
pub use postcard::Postcard;
pub use prefix::EncodePrefix;

use std::borrow::Cow;

/// The text form of an encoded key or value: JSON.
pub type Text = serde_json::Value;

/// Names the item of a codec: what a handler gets. It may borrow from the record.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record type",
    label = "no codec for `{Self}`",
    note = "add `#[derive(Codec)] #[codec(json)]` (or `postcard`) to your own type, or wrap a foreign one: `Json<{Self}>`",
    note = "null needs no type: every key and value may be null, and a handler takes `Option<…>` to see it"
)]
pub trait Data: Sized {
    /// What is read from the bytes: `&str` for `String`, `i64` for `i64`, `Order<'a>` for `Order<'_>`.
    type Item<'a>: FromItem<'a, Self>;
}

/// A type whose values are the bytes of a record.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record type",
    label = "no codec for `{Self}`",
    note = "add `#[derive(Codec)] #[codec(json)]` (or `postcard`) to your own type, or wrap a foreign one: `Json<{Self}>`",
    note = "null needs no type: every key and value may be null, and a handler takes `Option<…>` to see it"
)]
pub trait Codec: Data {
    /// The name of the format, as errors and the state directory know it: `string`, `i64`, `json`.
    fn name() -> Cow<'static, str>;

    /// Reads the item. All bytes must be used; nothing is rounded or replaced.
    fn decode(bytes: &[u8]) -> Result<Self::Item<'_>, DecodeError>;

    /// The text form of encoded bytes.
    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError>;

    /// Encodes a text form; appends to `out`. On an error `out` may hold a part, which the caller drops.
    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// A value that can be written as a `C`.
#[diagnostic::on_unimplemented(
    message = "expected a value of the codec `{C}`, found `{Self}`",
    label = "`{Self}` cannot be written as `{C}`"
)]
pub trait Encode<C: Codec> {
    /// Appends the bytes to `out`. On an error `out` may hold a part, which the caller drops.
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// A type whose bytes sort as its values do: what a store may have as key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of a store: its bytes do not sort as its values do",
    label = "not a key",
    note = "keys are integers, floats, `bool`, `String`, byte arrays, `Uuid`, timestamps and tuples of these; JSON and postcard are for values"
)]
pub trait KeyCodec: Data {
    /// The name of the key format, as the state directory knows it.
    fn key_name() -> Cow<'static, str>;

    /// Takes the item from the front of `bytes`. `last`: nothing follows it, so it needs no terminator.
    fn take<'a>(bytes: &mut &'a [u8], last: bool) -> Result<Self::Item<'a>, DecodeError>;

    /// Reads a whole key.
    fn decode_key(bytes: &[u8]) -> Result<Self::Item<'_>, DecodeError> {
        let mut rest = bytes;
        let item = Self::take(&mut rest, true)?;
        if rest.is_empty() {
            Ok(item)
        } else {
            Err(DecodeError::trailing(&Self::key_name(), bytes.len(), rest.len()))
        }
    }

    /// The text form of the part of a key at the front of `bytes`.
    fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError>;

    /// Encodes a text form as a (part of a) key; appends to `out`.
    fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError>;
}

/// A value that can be written as a store key of type `C`.
#[diagnostic::on_unimplemented(
    message = "expected a key of type `{C}`, found `{Self}`",
    label = "`{Self}` is not a key of this store"
)]
pub trait EncodeKey<C: KeyCodec> {
    /// Appends the order-preserving bytes to `out`. `last`: nothing follows, so no terminator is needed.
    fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError>;
}

#[diagnostic::do_not_recommend]
impl<C: KeyCodec, T: EncodeKey<C> + ?Sized> EncodeKey<C> for &T {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        (**self).put(out, last)
    }
}

/// A type that a handler may ask for where the topic (or store) holds a `C`.
#[diagnostic::on_unimplemented(
    message = "this handler takes `{Self}`, but the topic or store holds `{C}`",
    label = "a `{C}` does not arrive as `{Self}`",
    note = "take the codec's own item (`&str` or `String` for `String`, `Order<'_>` for `Order`), or `Option` of it where null is welcome"
)]
pub trait FromItem<'a, C: Data>: Sized {
    /// Converts the item.
    fn from_item(item: C::Item<'a>) -> Self;
}

/// The owned form of an item, where there is one: what `entry` lends and what tests receive.
#[diagnostic::on_unimplemented(
    message = "`{Self}` borrows from its record, so it has no owned form",
    label = "use `get` and `put` here, or a type without a lifetime"
)]
pub trait Own: Data {
    /// The owned form.
    type Owned: 'static;
    /// Makes the owned form.
    fn own(item: Self::Item<'_>) -> Self::Owned;
}
