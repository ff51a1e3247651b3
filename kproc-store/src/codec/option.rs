//! `Option` as a part of a key: a byte 0 for `None`, which sorts first, or a byte 1 and the part.
//!
//! It is no codec of a record: whether a key or a value is there at all is the record's affair (null), and a
//! handler's argument says whether it takes that.

use std::borrow::Cow;

use super::{Data, DecodeError, EncodeError, EncodeKey, FromItem, KeyCodec, Own, Text};

impl<C: Data> Data for Option<C> {
    type Item<'a> = Option<C::Item<'a>>;
}

#[diagnostic::do_not_recommend]
impl<C: KeyCodec> KeyCodec for Option<C> {
    fn key_name() -> Cow<'static, str> {
        Cow::Owned(format!("option({})", C::key_name()))
    }

    #[inline]
    fn take<'a>(bytes: &mut &'a [u8], last: bool) -> Result<Self::Item<'a>, DecodeError> {
        if tag::<C>(bytes)? {
            C::take(bytes, last).map(Some)
        } else {
            Ok(None)
        }
    }

    fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
        if !tag::<C>(bytes)? {
            return Ok(Text::Null);
        }
        let text = C::take_text(bytes, last)?;
        Ok(if ends_in_null(&text) {
            Text::Array(vec![text])
        } else {
            text
        })
    }

    fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        if text.is_null() {
            out.push(0);
            return Ok(());
        }
        out.push(1);
        match text {
            Text::Array(one) if ends_in_null(text) => C::put_text(&one[0], out, last),
            _ => C::put_text(text, out, last),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: KeyCodec, T: EncodeKey<C>> EncodeKey<Option<C>> for Option<T> {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
        match self {
            None => {
                out.push(0);
                Ok(())
            }
            Some(value) => {
                out.push(1);
                value.put(out, last)
            }
        }
    }
}

impl<'a, C: Data, T: FromItem<'a, C>> FromItem<'a, Option<C>> for Option<T> {
    #[inline]
    fn from_item(item: Option<C::Item<'a>>) -> Self {
        item.map(T::from_item)
    }
}

#[diagnostic::do_not_recommend]
impl<C: Own> Own for Option<C> {
    type Owned = Option<C::Owned>;

    #[inline]
    fn own(item: Self::Item<'_>) -> Self::Owned {
        item.map(C::own)
    }
}

/// Takes the tag from the front: whether a value follows.
#[inline]
fn tag<C: KeyCodec>(bytes: &mut &[u8]) -> Result<bool, DecodeError> {
    let name = Option::<C>::key_name;
    match bytes.split_first() {
        Some((tag @ (0 | 1), rest)) => {
            *bytes = rest;
            Ok(*tag == 1)
        }
        Some((tag, _)) => Err(DecodeError::new(
            &name(),
            format_args!("begins with the byte 0 or 1, got {tag}"),
        )),
        None => Err(DecodeError::size(&name(), "at least 1 byte", 0)),
    }
}

/// Whether it is `null`, `[null]`, `[[null]]`, …: then `Some` of it gets brackets of its own, so that
/// `Some(None)` in an option of an option is not the text of `None`.
fn ends_in_null(text: &Text) -> bool {
    match text {
        Text::Null => true,
        Text::Array(parts) => matches!(parts.as_slice(), [one] if ends_in_null(one)),
        _ => false,
    }
}
