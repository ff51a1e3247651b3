//! UUIDs: the 36 characters of their text, as Java's `UUIDSerializer` writes them (in lower case; read in
//! either). In a key their 16 bytes, which sort as `Uuid` does.

use std::borrow::Cow;

use uuid::Uuid;

use super::{
    Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, FromItem, KeyCodec, Own, Text, text::string,
};

/// `67e55044-10b1-426f-9247-bb680e5fe0c8`
const TEXT: usize = uuid::fmt::Hyphenated::LENGTH;

impl Data for Uuid {
    type Item<'a> = Uuid;
}

#[diagnostic::do_not_recommend]
impl Codec for Uuid {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("uuid")
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<Uuid, DecodeError> {
        if bytes.len() != TEXT {
            return Err(DecodeError::size("uuid", "36 bytes of text", bytes.len()));
        }
        // At this length the parser takes the form with hyphens and no other.
        Uuid::try_parse_ascii(bytes).map_err(|error| DecodeError::new("uuid", error))
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        Ok(Self::decode(bytes)?.to_string().into())
    }

    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Encode::<Uuid>::encode(&parse(text)?, out)
    }
}

#[diagnostic::do_not_recommend]
impl Encode<Uuid> for Uuid {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self.hyphenated().encode_lower(&mut [0; TEXT]).as_bytes());
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl KeyCodec for Uuid {
    fn key_name() -> Cow<'static, str> {
        Self::name()
    }

    #[inline]
    fn take(bytes: &mut &[u8], _last: bool) -> Result<Uuid, DecodeError> {
        match bytes.split_first_chunk() {
            Some((head, rest)) => {
                *bytes = rest;
                Ok(Uuid::from_bytes(*head))
            }
            None => Err(DecodeError::size("uuid", "16 bytes in a key", bytes.len())),
        }
    }

    fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
        Ok(Self::take(bytes, last)?.to_string().into())
    }

    fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        EncodeKey::<Uuid>::put(&parse(text)?, out, last)
    }
}

#[diagnostic::do_not_recommend]
impl EncodeKey<Uuid> for Uuid {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, _last: bool) -> Result<(), EncodeError> {
        out.extend_from_slice(self.as_bytes());
        Ok(())
    }
}

impl FromItem<'_, Uuid> for Uuid {
    #[inline]
    fn from_item(item: Uuid) -> Self {
        item
    }
}

#[diagnostic::do_not_recommend]
impl Own for Uuid {
    type Owned = Uuid;

    #[inline]
    fn own(item: Uuid) -> Uuid {
        item
    }
}

fn parse(text: &Text) -> Result<Uuid, EncodeError> {
    let digits = string("uuid", text)?;
    match Uuid::try_parse(digits) {
        Ok(uuid) if digits.len() == TEXT => Ok(uuid),
        _ => Err(EncodeError::text(
            "uuid",
            "a string like \"67e55044-10b1-426f-9247-bb680e5fe0c8\"",
            text,
        )),
    }
}
