//! Moments: their milliseconds since 1970 as an `i64`, as Java's `LongSerializer` writes them.

use std::borrow::Cow;

use jiff::Timestamp as Instant;

use super::{Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, FromItem, KeyCodec, Own, Text};
use crate::Timestamp;

impl Data for Timestamp {
    type Item<'a> = Timestamp;
}

impl Codec for Timestamp {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("timestamp")
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<Timestamp, DecodeError> {
        match bytes.try_into() {
            Ok(bytes) => Ok(Timestamp::from_millis(i64::from_be_bytes(bytes))),
            Err(_) => Err(DecodeError::size("timestamp", "8 bytes", bytes.len())),
        }
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        Ok(show(Self::decode(bytes)?))
    }

    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Encode::<Timestamp>::encode(&read(text)?, out)
    }
}

impl Encode<Timestamp> for Timestamp {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.as_millis().to_be_bytes());
        Ok(())
    }
}

impl KeyCodec for Timestamp {
    fn key_name() -> Cow<'static, str> {
        Self::name()
    }

    #[inline]
    fn take(bytes: &mut &[u8], last: bool) -> Result<Timestamp, DecodeError> {
        match <i64 as KeyCodec>::take(bytes, last) {
            Ok(millis) => Ok(Timestamp::from_millis(millis)),
            Err(_) => Err(DecodeError::size("timestamp", "8 bytes", bytes.len())),
        }
    }

    fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
        Ok(show(Self::take(bytes, last)?))
    }

    fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        EncodeKey::<Timestamp>::put(&read(text)?, out, last)
    }
}

impl EncodeKey<Timestamp> for Timestamp {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        EncodeKey::<i64>::put(&self.as_millis(), out, last)
    }
}

impl FromItem<'_, Timestamp> for Timestamp {
    #[inline]
    fn from_item(item: Timestamp) -> Self {
        item
    }
}

impl Own for Timestamp {
    type Owned = Timestamp;

    #[inline]
    fn own(item: Timestamp) -> Timestamp {
        item
    }
}

/// As RFC 3339 in UTC; in milliseconds where the calendar ends.
fn show(timestamp: Timestamp) -> Text {
    match Instant::from_millisecond(timestamp.as_millis()) {
        Ok(instant) => instant.to_string().into(),
        Err(_) => timestamp.as_millis().into(),
    }
}

/// RFC 3339 with any offset, or milliseconds. A part of a millisecond is refused, not cut off.
fn read(text: &Text) -> Result<Timestamp, EncodeError> {
    let millis = match text {
        Text::String(written) => written
            .parse::<Instant>()
            .ok()
            .filter(|instant| instant.subsec_nanosecond() % 1_000_000 == 0)
            .map(Instant::as_millisecond),
        _ => text.as_i64(),
    };
    millis.map(Timestamp::from_millis).ok_or_else(|| {
        let want =
            "a time like \"2013-01-01T10:15:00Z\", at most to the millisecond, or milliseconds since 1970";
        EncodeError::text("timestamp", want, text)
    })
}
