//! Codecs: what a topic or a store holds, and which Rust types go in and out of it.
//!
//! [`Data`] names the item. [`Codec`] reads it from a record's bytes, [`Encode`] writes it; the bytes are those
//! of Kafka's own Java serializers where those exist. [`KeyCodec`] and [`EncodeKey`] do the same in an
//! order-preserving way, for the keys of stores. [`FromItem`] says which types a handler may ask for.
//!
//! # What the bytes are
//!
//! All numbers are big-endian: the first byte is the most significant one.
//!
//! | Type | Item | In a record | Bytes | Java serializer | In a key | Text form (JSON) |
//! |---|---|---|---|---|---|---|
//! | `String` | `&str` | UTF-8, nothing around it | its length | `String` | the same; `00` behind it where a part follows | string |
//! | `i16`, `i32`, `i64` | itself | two's complement | 2, 4, 8 | `Short`, `Integer`, `Long` | sign bit flipped | number |
//! | `i8` | itself | two's complement | 1 | | sign bit flipped | number |
//! | `u8`, `u16`, `u32`, `u64` | itself | as it is | 1, 2, 4, 8 | | the same | number |
//! | `f32`, `f64` | itself | IEEE 754 | 4, 8 | `Float`, `Double` | positive: sign bit set; negative: all bits flipped | number, `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | `bool` | itself | `00` or `01` | 1 | `Boolean` | the same | `true`, `false` |
//! | `Uuid` | itself | its text, `67e55044-10b1-…`, in lower case | 36 | `UUID` | its 16 bytes | string |
//! | [`Timestamp`](crate::Timestamp) | itself | milliseconds since 1970 as `i64` | 8 | `Long` | as `i64` | `"2013-01-01T10:15:00Z"` |
//! | `Vec<u8>`, `Bytes` | `&[u8]` | as they are | their number | `ByteArray`, `Bytes` | the same; where a part follows: `00` is written `00 FF`, `00 00` ends it, and bytes with a `00` are repeated as they are | hex string |
//! | `[u8; N]` | `&[u8; N]` | as they are | N | | the same | hex string |
//! | tuple of up to 8 | tuple of items | as in a key | sum | | part after part | array |
//! | `Option<T>` | `Option` of the item | (part of a key only) | | | `00`, or `01` and the part | `null` or the part |
//! | `()` | `()` | null | | `Void` | | |
//! | [`Json<T>`](Json), derived | `T`, lent | JSON without spaces | | | (no key) | the JSON itself |
//! | [`Postcard<T>`](Postcard), derived | `T`, lent | [postcard](https://postcard.jamesmunns.com) | | | (no key) | the value as JSON |
//!
//! Java's `DoubleSerializer` writes one NaN only, the one that Rust calls `f64::NAN`; here the bits of a float
//! are never changed. As keys floats have the order of `f64::total_cmp`.
//!
//! ```
//! use kproc_store::codec::{Codec, Encode, EncodeKey};
//!
//! let (mut record, mut key) = (Vec::new(), Vec::new());
//! Encode::<i32>::encode(&-2, &mut record)?;
//! assert_eq!(record, [0xff, 0xff, 0xff, 0xfe]);
//! assert_eq!(i32::decode(&record)?, -2);
//!
//! EncodeKey::<(String, i32)>::put(&("ab", -2), &mut key, true)?;
//! assert_eq!(key, b"ab\0\x7f\xff\xff\xfe");
//! assert_eq!(<(String, i32)>::decode(&key)?, ("ab", -2));
//!
//! let error = i64::decode(&record).unwrap_err();
//! assert_eq!(error.to_string(), "i64: wants 8 bytes, got 4 bytes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules of this folder
//!
//! Every impl of [`Encode`] and [`FromItem`] is concrete in the codec `C` (none is blanket over `C`), which is
//! what lets `Json<T>` exist for any `T` without overlap. A codec's item can always be written as that codec
//! again. What may be here: bytes to values and back. Nothing here knows of stores or topics.

mod boolean;
mod bytes;
mod error;
mod floats;
mod integers;
pub mod json;
mod option;
pub mod postcard;
mod prefix;
mod serde;
mod text;
mod timestamp;
mod tuples;
mod uuid;
mod void;

pub use self::serde::Serde;
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
    note = "add `#[derive(Serialize, Deserialize, Codec)] #[codec(json)]` (or `postcard`) to a type of your own, and `#[derive(Serialize, Deserialize)]` to the types that it is made of; write a foreign one as `Json<{Self}>`",
    note = "known without that are `String` (not `&str`), integers (not `usize`), floats, `bool`, `Vec<u8>`, `[u8; N]`, `Bytes`, `Uuid`, `Timestamp`, `()` and tuples",
    note = "instead of `Option<T>` write `T`, for every key and value may be null: a handler takes `Option<T>` to see it, and `get` of a table gives one"
)]
pub trait Data: Sized {
    /// What is read from the bytes: `&str` for `String`, `i64` for `i64`, `Order<'a>` for `Order<'_>`.
    type Item<'a>: FromItem<'a, Self>;
}

/// A type whose values are the bytes of a record.
///
/// `#[derive(Codec)]` makes one of a type that serde knows. By hand, a format of one's own takes these impls (and
/// [`Own`], if `entry` and tests shall have the value):
///
/// ```
/// use std::borrow::Cow;
/// use kproc_store::codec::{Codec, Data, DecodeError, Encode, EncodeError, FromItem, Text};
///
/// /// A square of a chess board: `e4`.
/// #[derive(Debug, PartialEq)]
/// struct Square([u8; 2]);
///
/// impl Data for Square {
///     type Item<'a> = Square;
/// }
///
/// impl Codec for Square {
///     fn name() -> Cow<'static, str> {
///         "square".into()
///     }
///     fn decode(bytes: &[u8]) -> Result<Square, DecodeError> {
///         match bytes {
///             [file @ b'a'..=b'h', rank @ b'1'..=b'8'] => Ok(Square([*file, *rank])),
///             _ => Err(DecodeError::new("square", "wants a letter and a digit like `e4`")),
///         }
///     }
///     fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
///         let Square(square) = Self::decode(bytes)?;
///         String::to_text(&square)
///     }
///     fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
///         let square = text.as_str().and_then(|square| Self::decode(square.as_bytes()).ok());
///         square.ok_or_else(|| EncodeError::text("square", "a square like \"e4\"", text))?.encode(out)
///     }
/// }
///
/// impl Encode<Square> for Square {
///     fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
///         out.extend_from_slice(&self.0);
///         Ok(())
///     }
/// }
///
/// impl FromItem<'_, Square> for Square {
///     fn from_item(item: Square) -> Self {
///         item
///     }
/// }
///
/// assert_eq!(Square::decode(b"e4")?, Square([b'e', b'4']));
/// assert!(Square::decode(b"i9").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record type",
    label = "no codec for `{Self}`",
    note = "add `#[derive(Serialize, Deserialize, Codec)] #[codec(json)]` (or `postcard`) to a type of your own, and `#[derive(Serialize, Deserialize)]` to the types that it is made of; write a foreign one as `Json<{Self}>`",
    note = "known without that are `String` (not `&str`), integers (not `usize`), floats, `bool`, `Vec<u8>`, `[u8; N]`, `Bytes`, `Uuid`, `Timestamp`, `()` and tuples",
    note = "instead of `Option<T>` write `T`, for every key and value may be null: a handler takes `Option<T>` to see it, and `get` of a table gives one"
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
/// ```
/// use kproc_store::codec::Encode;
///
/// let mut bytes = Vec::new();
/// Encode::<String>::encode("tea", &mut bytes)?; // a `str` is written as a `String` is
/// Encode::<i32>::encode(&1, &mut bytes)?;
/// assert_eq!(bytes, b"tea\0\0\0\x01");
/// # Ok::<(), kproc_store::codec::EncodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "this takes values of type `{C}`, and `{Self}` is none",
    label = "pass a reference to a `{C}` (`&str` for `String`)"
)]
pub trait Encode<C: Codec> {
    /// Appends the bytes to `out`. On an error `out` may hold a part, which the caller drops.
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// A type whose bytes sort as its values do: what a store may have as key.
/// ```
/// use kproc_store::codec::{EncodeKey, KeyCodec};
///
/// let key = |number: i64| {
///     let mut bytes = Vec::new();
///     EncodeKey::<i64>::put(&number, &mut bytes, true).map(|()| bytes)
/// };
/// assert!(key(-1)? < key(0)? && key(0)? < key(1)?);
/// assert_eq!(i64::decode_key(&key(-1)?)?, -1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of a store",
    label = "not a type whose bytes sort as its values do",
    note = "keys are `String` (not `&str`), integers (not `usize`), floats, `bool`, `Vec<u8>`, `[u8; N]`, `Bytes`, `Uuid`, `Timestamp`, and tuples and `Option`s of these",
    note = "a type of your own is no key, nor are `Json` and `Postcard`, for their bytes have no order: take the field that tells its values apart, or a tuple of several"
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

    /// The text form of a whole key.
    fn key_to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        let mut rest = bytes;
        let text = Self::take_text(&mut rest, true)?;
        if rest.is_empty() {
            Ok(text)
        } else {
            Err(DecodeError::trailing(&Self::key_name(), bytes.len(), rest.len()))
        }
    }

    /// Encodes a text form as a (part of a) key; appends to `out`.
    fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError>;
}

/// What the methods of a store take for a key of type `C`: every [`EncodeKey`] of it, and nothing else.
//
// A trait of its own, for the compiler would show how some other key is written.
#[diagnostic::on_unimplemented(
    message = "this store has keys of type `{C}`, and `{Self}` is none",
    label = "pass a reference to a `{C}` (`&str` for `String`)"
)]
pub trait StoreKey<C: KeyCodec>: EncodeKey<C> {}

#[diagnostic::do_not_recommend]
impl<C: KeyCodec, T: EncodeKey<C> + ?Sized> StoreKey<C> for T {}

/// A value that can be written as a store key of type `C`.
#[diagnostic::on_unimplemented(
    message = "a key of type `{C}` cannot be written from `{Self}`",
    label = "not a `{C}`"
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
///
/// A type of your own becomes one by an impl:
///
/// ```
/// use kproc_store::codec::FromItem;
///
/// /// A word in lower case.
/// struct Lower(String);
///
/// impl FromItem<'_, String> for Lower {
///     fn from_item(word: &str) -> Self {
///         Self(word.to_lowercase())
///     }
/// }
///
/// assert_eq!(Lower::from_item("Tea").0, "tea");
/// ```
#[diagnostic::on_unimplemented(
    message = "this handler takes `{Self}`, which a topic or store of `{C}` does not give",
    label = "a topic or store of `{C}` does not give this",
    note = "a topic of `String` gives `&str` (or `String`), of `i64` it gives `i64`, of `Order` it gives `Order` (or `Order<'_>`), of `Json<T>` it gives `T`; and `Option` of any, which is `None` for null"
)]
pub trait FromItem<'a, C: Data>: Sized {
    /// Converts the item.
    fn from_item(item: C::Item<'a>) -> Self;
}

/// The owned form of an item, where there is one: what `entry` lends and what tests receive.
/// ```
/// use kproc_store::codec::Own;
///
/// assert_eq!(String::own("tea"), "tea".to_owned());
/// ```
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
