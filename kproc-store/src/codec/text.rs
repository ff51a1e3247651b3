//! Text: UTF-8 without a length or a terminator, as Java's `StringSerializer` writes it. The item is `&str`,
//! lent by the record.
//!
//! In a key, where another part follows, a zero byte ends the text, so that `"ab"` sorts before `"abc"`. Text
//! with U+0000 in it cannot be such a part: an escape would have to be undone, and the item could not borrow.

use std::borrow::Cow;

use super::{
    Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, EncodePrefix, FromItem, KeyCodec, Own, Text,
};

impl Data for String {
    type Item<'a> = &'a str;
}

#[diagnostic::do_not_recommend]
impl Codec for String {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("string")
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<&str, DecodeError> {
        std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error))
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        Ok(Self::decode(bytes)?.into())
    }

    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Encode::<String>::encode(string("string", text)?, out)
    }
}

#[diagnostic::do_not_recommend]
impl KeyCodec for String {
    fn key_name() -> Cow<'static, str> {
        Self::name()
    }

    #[inline]
    fn take<'a>(bytes: &mut &'a [u8], last: bool) -> Result<&'a str, DecodeError> {
        let all = *bytes;
        if last {
            *bytes = &[];
            return Self::decode(all);
        }
        let Some(end) = all.iter().position(|byte| *byte == 0) else {
            return Err(DecodeError::new(
                "string",
                format_args!("wants a zero byte at its end, got {} bytes without", all.len()),
            ));
        };
        *bytes = &all[end + 1..];
        Self::decode(&all[..end])
    }

    fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
        Ok(Self::take(bytes, last)?.into())
    }

    fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        EncodeKey::<String>::put(string("string", text)?, out, last)
    }
}

#[diagnostic::do_not_recommend]
impl EncodeKey<String> for str {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        out.extend_from_slice(self.as_bytes());
        if !last {
            if let Some(at) = self.bytes().position(|byte| byte == 0) {
                return Err(EncodeError::new(
                    "string",
                    format_args!(
                        "text with U+0000 in it (at byte {at} of {}) can only be the last part of a key",
                        self.len()
                    ),
                ));
            }
            out.push(0);
        }
        Ok(())
    }
}

impl EncodePrefix<String> for str {
    fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self.as_bytes());
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl Encode<String> for str {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self.as_bytes());
        Ok(())
    }
}

/// What else can be written as text. (Not blanket over references: see the module `codec`.)
macro_rules! written {
    ($($type:ty),*) => { $(
        #[diagnostic::do_not_recommend]
        impl Encode<String> for $type {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                let text: &str = self;
                Encode::<String>::encode(text, out)
            }
        }
    )* };
}
written!(String, &str, &String, Cow<'_, str>);

/// References to these are keys by the impl for `&T` beside [`EncodeKey`].
macro_rules! written_as_key {
    ($($type:ty),*) => { $(
        #[diagnostic::do_not_recommend]
        impl EncodeKey<String> for $type {
            #[inline]
            fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
                let text: &str = self;
                EncodeKey::<String>::put(text, out, last)
            }
        }

        impl EncodePrefix<String> for $type {
            fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                let text: &str = self;
                text.put_prefix(out)
            }
        }
    )* };
}
written_as_key!(String, Cow<'_, str>);

impl<'a> FromItem<'a, String> for &'a str {
    #[inline]
    fn from_item(item: &'a str) -> Self {
        item
    }
}

impl<'a> FromItem<'a, String> for String {
    #[inline]
    fn from_item(item: &'a str) -> Self {
        item.to_owned()
    }
}

impl<'a> FromItem<'a, String> for Cow<'a, str> {
    #[inline]
    fn from_item(item: &'a str) -> Self {
        Cow::Borrowed(item)
    }
}

#[diagnostic::do_not_recommend]
impl Own for String {
    type Owned = String;

    #[inline]
    fn own(item: &str) -> String {
        item.to_owned()
    }
}

/// The string in a text form.
pub(super) fn string<'t>(codec: &str, text: &'t Text) -> Result<&'t str, EncodeError> {
    text.as_str()
        .ok_or_else(|| EncodeError::text(codec, "a string", text))
}

#[cold]
fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> DecodeError {
    let at = error.valid_up_to();
    DecodeError::new(
        "string",
        format_args!(
            "wants UTF-8, got {} bytes with 0x{:02x} at byte {at}",
            bytes.len(),
            bytes[at]
        ),
    )
}
