//! JSON, by serde. The functions are what `#[derive(Codec)] #[codec(json)]` and [`Json`] are made of.
//!
//! Integers are exact or an error, whatever their size; what the Rust type ignores may be anything that is
//! JSON. Text with escapes in it (`\n`, `\u00fc`) cannot be lent as `&str`: a field that may have some is a
//! `String`, or a `Cow<'a, str>` with `#[serde(borrow)]`.

use std::{borrow::Cow, marker::PhantomData};

use serde::{Deserialize, Serialize};

use super::{Codec, Data, DecodeError, Encode, EncodeError, FromItem, Own, Serde, Text};

/// The codec of a foreign type as JSON. Handlers take the `T`, and `send` and `put` take it, too.
///
/// ```
/// use kproc_store::codec::{Codec, Encode, Json};
///
/// let mut bytes = Vec::new();
/// Encode::<Json<Vec<u8>>>::encode(&vec![1, 2], &mut bytes)?;
/// assert_eq!(bytes, b"[1,2]");
/// assert_eq!(Json::<Vec<u8>>::decode(&bytes)?, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Json<T>(PhantomData<fn() -> T>);

impl<T> std::fmt::Debug for Json<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Json")
    }
}

impl<T: for<'de> Serde<'de>> Data for Json<T> {
    type Item<'a> = T;
}

impl<T: for<'de> Serde<'de>> Codec for Json<T> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(NAME)
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<T, DecodeError> {
        T::from_json(bytes)
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        to_text(bytes)
    }

    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        from_text::<Self>(text, out)
    }
}

#[diagnostic::do_not_recommend]
impl<T: for<'de> Serde<'de>> Encode<Json<T>> for T {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.to_json(out)
    }
}

impl<T: for<'de> Serde<'de>> FromItem<'_, Json<T>> for T {
    #[inline]
    fn from_item(item: T) -> Self {
        item
    }
}

#[diagnostic::do_not_recommend]
impl<T: for<'de> Serde<'de> + 'static> Own for Json<T> {
    type Owned = T;

    #[inline]
    fn own(item: T) -> T {
        item
    }
}

/// The name of the format.
pub const NAME: &str = "json";

/// Reads a value, which may borrow from the bytes.
#[inline]
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(bytes).map_err(|error| unreadable(bytes, &error))
}

/// Appends a value, without spaces.
#[inline]
pub fn encode<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    serde_json::to_writer(out, value).map_err(|error| EncodeError::new(NAME, error))
}

/// The text form: the JSON itself, with what the Rust type ignores.
pub fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
    let text = decode(bytes)?;
    match wide_integer(bytes) {
        None => Ok(text),
        // The text form has 64 bits for it and would silently round it.
        Some(digits) => Err(DecodeError::new(
            NAME,
            format_args!("the integer {digits} has more than 64 bits"),
        )),
    }
}

/// Appends the text form as it is, if `C` can read it.
pub fn from_text<C: Codec>(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    encode(text, out)?;
    match C::decode(&out[start..]) {
        Ok(_) => Ok(()),
        Err(error) => Err(EncodeError::new(NAME, error.what())),
    }
}

#[cold]
fn unreadable(bytes: &[u8], error: &serde_json::Error) -> DecodeError {
    DecodeError::new(NAME, format_args!("{error} (of {} bytes)", bytes.len()))
}

/// The first integer in a JSON text that neither `i64` nor `u64` holds.
fn wide_integer(json: &[u8]) -> Option<&str> {
    let json = std::str::from_utf8(json).ok()?;
    let mut rest = json.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        match first {
            b'"' => rest = after_string(after),
            b'-' | b'0'..=b'9' => {
                let end = rest
                    .iter()
                    .position(|c| !matches!(c, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
                let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
                let start = json.len() - rest.len();
                let digits = &json[start..start + number.len()];
                let whole = !number.iter().any(|c| matches!(c, b'.' | b'e' | b'E'));
                if whole && digits.parse::<i64>().is_err() && digits.parse::<u64>().is_err() {
                    return Some(digits);
                }
                rest = after;
            }
            _ => rest = after,
        }
    }
    None
}

/// What follows a string, from after its opening quote.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let [first, after @ ..] = rest {
        rest = match first {
            b'"' => return after,
            b'\\' => after.get(1..).unwrap_or_default(),
            _ => after,
        };
    }
    rest
}
