//! Moments: their milliseconds since 1970 as an `i64`, as Java's `LongSerializer` writes them.
//!
//! Within other types, by serde: in JSON and other readable formats the text form, in postcard and other binary
//! ones the milliseconds.

use std::{borrow::Cow, fmt};

use jiff::Timestamp as Instant;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, FromItem, KeyCodec, Own, Text};
use crate::Timestamp;

impl Data for Timestamp {
    type Item<'a> = Timestamp;
}

#[diagnostic::do_not_recommend]
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

#[diagnostic::do_not_recommend]
impl Encode<Timestamp> for Timestamp {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.as_millis().to_be_bytes());
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
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

#[diagnostic::do_not_recommend]
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

#[diagnostic::do_not_recommend]
impl Own for Timestamp {
    type Owned = Timestamp;

    #[inline]
    fn own(item: Timestamp) -> Timestamp {
        item
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match instant(*self).filter(|_| to.is_human_readable()) {
            Some(instant) => to.collect_str(&instant),
            None => to.serialize_i64(self.as_millis()),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            from.deserialize_any(TextForm)
        } else {
            i64::deserialize(from).map(Self::from_millis)
        }
    }
}

/// Reads a moment from a readable format.
struct TextForm;

impl de::Visitor<'_> for TextForm {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WANT)
    }

    fn visit_str<E: de::Error>(self, written: &str) -> Result<Timestamp, E> {
        parse(written).ok_or_else(|| E::invalid_value(de::Unexpected::Str(written), &self))
    }

    fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Timestamp, E> {
        Ok(Timestamp::from_millis(millis))
    }

    fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Timestamp, E> {
        let millis = i64::try_from(millis);
        millis
            .map(Timestamp::from_millis)
            .map_err(|_| E::custom("a time too far in the future"))
    }
}

const WANT: &str =
    "a time like \"2013-01-01T10:15:00Z\", at most to the millisecond, or milliseconds since 1970";

/// The moment in the calendar, if it is there.
fn instant(timestamp: Timestamp) -> Option<Instant> {
    Instant::from_millisecond(timestamp.as_millis()).ok()
}

/// As RFC 3339 in UTC; in milliseconds where the calendar ends.
fn show(timestamp: Timestamp) -> Text {
    match instant(timestamp) {
        Some(instant) => instant.to_string().into(),
        None => timestamp.as_millis().into(),
    }
}

/// RFC 3339 with any offset, or milliseconds.
fn read(text: &Text) -> Result<Timestamp, EncodeError> {
    let timestamp = match text {
        Text::String(written) => parse(written),
        _ => text.as_i64().map(Timestamp::from_millis),
    };
    timestamp.ok_or_else(|| EncodeError::text("timestamp", WANT, text))
}

/// RFC 3339 with any offset. A part of a millisecond is refused, not cut off.
fn parse(written: &str) -> Option<Timestamp> {
    let instant: Instant = written.parse().ok()?;
    let whole = instant.subsec_nanosecond() % 1_000_000 == 0;
    whole.then(|| Timestamp::from_millis(instant.as_millisecond()))
}
