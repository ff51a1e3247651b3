//! Postcard, a compact binary format, by serde. The functions are what `#[derive(Codec)] #[codec(postcard)]`
//! and [`Postcard`] are made of.
//!
//! The bytes do not say what they are: a type must not change once it has been written, except that an enum may
//! get more variants at its end. Names of fields cost nothing, and text and bytes are always lent.

use std::{borrow::Cow, marker::PhantomData};

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

use super::{Codec, Data, DecodeError, Encode, EncodeError, FromItem, Own, Serde, Text};

/// The codec of a foreign type as postcard. Handlers take the `T`, and `send` and `put` take it, too.
///
/// ```
/// use kproc_store::codec::{Codec, Encode, Postcard};
///
/// let mut bytes = Vec::new();
/// Encode::<Postcard<(u32, bool)>>::encode(&(300, true), &mut bytes)?;
/// assert_eq!(bytes, [0xac, 0x02, 1]);
/// assert_eq!(Postcard::<(u32, bool)>::decode(&bytes)?, (300, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Postcard<T>(PhantomData<fn() -> T>);

impl<T> std::fmt::Debug for Postcard<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Postcard")
    }
}

impl<T: for<'de> Serde<'de>> Data for Postcard<T> {
    type Item<'a> = T;
}

impl<T: for<'de> Serde<'de>> Codec for Postcard<T> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(NAME)
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<T, DecodeError> {
        T::from_postcard(bytes)
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        T::from_postcard(bytes)?.to_text()
    }

    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        T::from_text(text)?.to_postcard(out)
    }
}

#[diagnostic::do_not_recommend]
impl<T: for<'de> Serde<'de>> Encode<Postcard<T>> for T {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.to_postcard(out)
    }
}

impl<T: for<'de> Serde<'de>> FromItem<'_, Postcard<T>> for T {
    #[inline]
    fn from_item(item: T) -> Self {
        item
    }
}

#[diagnostic::do_not_recommend]
impl<T: for<'de> Serde<'de> + 'static> Own for Postcard<T> {
    type Owned = T;

    #[inline]
    fn own(item: T) -> T {
        item
    }
}

/// The name of the format.
pub const NAME: &str = "postcard";

/// Reads a value, which may borrow from the bytes.
#[inline]
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(DecodeError::trailing(NAME, bytes.len(), rest.len())),
        Err(error) => Err(DecodeError::new(
            NAME,
            format_args!("{error} (of {} bytes)", bytes.len()),
        )),
    }
}

/// Appends a value.
#[inline]
pub fn encode<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    postcard::serialize_with_flavor(value, Append(out)).map_err(|error| EncodeError::new(NAME, error))
}

/// The text form of a value: the value as JSON.
pub fn to_text<T: Serialize + ?Sized>(value: &T) -> Result<Text, DecodeError> {
    serde_json::to_value(value).map_err(|error| DecodeError::new(NAME, format_args!("no text form: {error}")))
}

/// The value that a text form is the JSON of; it may borrow from the text.
pub fn from_text<'t, T: Deserialize<'t>>(text: &'t Text) -> Result<T, EncodeError> {
    T::deserialize(text).map_err(|error| EncodeError::new(NAME, error))
}

/// Appends to a vector that the caller keeps, whatever happens.
struct Append<'v>(&'v mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
