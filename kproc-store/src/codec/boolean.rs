//! `bool`: one byte, 0 or 1, as Java's `BooleanSerializer` writes it.

use std::borrow::Cow;

use super::{Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, FromItem, KeyCodec, Own, Text};

impl Data for bool {
    type Item<'a> = bool;
}

#[diagnostic::do_not_recommend]
impl Codec for bool {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("bool")
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<bool, DecodeError> {
        match bytes {
            [byte] => from_byte(*byte),
            _ => Err(DecodeError::size("bool", "1 byte", bytes.len())),
        }
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        Ok(Self::decode(bytes)?.into())
    }

    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let value = text
            .as_bool()
            .ok_or_else(|| EncodeError::text("bool", "true or false", text))?;
        Encode::<bool>::encode(&value, out)
    }
}

#[diagnostic::do_not_recommend]
impl Encode<bool> for bool {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(u8::from(*self));
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl KeyCodec for bool {
    fn key_name() -> Cow<'static, str> {
        Self::name()
    }

    #[inline]
    fn take(bytes: &mut &[u8], _last: bool) -> Result<bool, DecodeError> {
        match bytes.split_first() {
            Some((byte, rest)) => {
                *bytes = rest;
                from_byte(*byte)
            }
            None => Err(DecodeError::size("bool", "1 byte", 0)),
        }
    }

    fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
        Ok(Self::take(bytes, last)?.into())
    }

    fn put_text(text: &Text, out: &mut Vec<u8>, _last: bool) -> Result<(), EncodeError> {
        Self::from_text(text, out)
    }
}

#[diagnostic::do_not_recommend]
impl EncodeKey<bool> for bool {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, _last: bool) -> Result<(), EncodeError> {
        Encode::<bool>::encode(self, out)
    }
}

impl FromItem<'_, bool> for bool {
    #[inline]
    fn from_item(item: bool) -> Self {
        item
    }
}

#[diagnostic::do_not_recommend]
impl Own for bool {
    type Owned = bool;

    #[inline]
    fn own(item: bool) -> bool {
        item
    }
}

fn from_byte(byte: u8) -> Result<bool, DecodeError> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::new(
            "bool",
            format_args!("wants the byte 0 or 1, got {byte}"),
        )),
    }
}
