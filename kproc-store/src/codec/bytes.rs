//! Bytes as they are, as Java's `ByteArraySerializer` and `BytesSerializer` write them. `Vec<u8>` and `Bytes`
//! have any length, and their item `&[u8]` is lent by the record; `[u8; N]` has N bytes.
//!
//! In a key, where another part follows, bytes of any length need an end that sorts before any byte: `00 00`,
//! with each `00` inside written `00 FF`. Such an escape would have to be undone to read the item, and so it
//! could not be lent; therefore bytes that had to be escaped are followed by a copy of them as they are. (The
//! copy does not touch the order: two keys that differ do so before it.) Most bytes need none; those that
//! often do (hashes, binary numbers) have a fixed length, and `[u8; N]` needs neither escape nor end.

use std::borrow::Cow;

use bytes::Bytes;

use super::{
    Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, EncodePrefix, FromItem, KeyCodec, Own, Text,
    text,
};

/// `Vec<u8>` and `Bytes` differ only in what a handler, `entry` or a test owns.
macro_rules! any_length {
    ($($type:ty, $own:expr;)*) => { $(
        impl Data for $type {
            type Item<'a> = &'a [u8];
        }

        #[diagnostic::do_not_recommend]
        impl Codec for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed("bytes")
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<&[u8], DecodeError> {
                Ok(bytes)
            }

            fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
                Ok(hex(bytes))
            }

            fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                out.extend(from_hex("bytes", text)?);
                Ok(())
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyCodec for $type {
            fn key_name() -> Cow<'static, str> {
                Self::name()
            }

            #[inline]
            fn take<'a>(bytes: &mut &'a [u8], last: bool) -> Result<&'a [u8], DecodeError> {
                if last { Ok(std::mem::take(bytes)) } else { unescape(bytes) }
            }

            fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
                Ok(hex(Self::take(bytes, last)?))
            }

            fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
                EncodeKey::<$type>::put(&from_hex("bytes", text)?, out, last)
            }
        }

        written!($type, [u8]);
        written!($type, Vec<u8>);
        written!($type, Bytes);
        written!($type, Cow<'_, [u8]>);
        written!($type, [u8; N], const N: usize);

        #[diagnostic::do_not_recommend]
        impl Encode<$type> for &[u8] {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                Encode::<$type>::encode(*self, out)
            }
        }

        impl<'a> FromItem<'a, $type> for &'a [u8] {
            #[inline]
            fn from_item(item: &'a [u8]) -> Self {
                item
            }
        }

        impl<'a> FromItem<'a, $type> for Vec<u8> {
            #[inline]
            fn from_item(item: &'a [u8]) -> Self {
                item.to_vec()
            }
        }

        impl<'a> FromItem<'a, $type> for Bytes {
            #[inline]
            fn from_item(item: &'a [u8]) -> Self {
                Bytes::copy_from_slice(item)
            }
        }

        impl<'a> FromItem<'a, $type> for Cow<'a, [u8]> {
            #[inline]
            fn from_item(item: &'a [u8]) -> Self {
                Cow::Borrowed(item)
            }
        }

        #[diagnostic::do_not_recommend]
        impl Own for $type {
            type Owned = $type;

            #[inline]
            fn own(item: &[u8]) -> $type {
                $own(item)
            }
        }
    )* };
}

/// What can be written as bytes of any length.
macro_rules! written {
    ($codec:ty, $type:ty $(, const $n:ident: usize)?) => {
        #[diagnostic::do_not_recommend]
        impl $(<const $n: usize>)? Encode<$codec> for $type {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                out.extend_from_slice(self.as_ref());
                Ok(())
            }
        }

        #[diagnostic::do_not_recommend]
        impl $(<const $n: usize>)? EncodeKey<$codec> for $type {
            #[inline]
            fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
                if last {
                    out.extend_from_slice(self.as_ref());
                } else {
                    escape(self.as_ref(), out);
                }
                Ok(())
            }
        }

        impl $(<const $n: usize>)? EncodePrefix<$codec> for $type {
            fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                out.extend_from_slice(self.as_ref());
                Ok(())
            }
        }
    };
}

any_length! {
    Vec<u8>, <[u8]>::to_vec;
    Bytes, Bytes::copy_from_slice;
}

impl<const N: usize> Data for [u8; N] {
    type Item<'a> = &'a [u8; N];
}

#[diagnostic::do_not_recommend]
impl<const N: usize> Codec for [u8; N] {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("bytes[{N}]"))
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<&[u8; N], DecodeError> {
        bytes.try_into().map_err(|_| wrong_size::<N>(bytes))
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        Ok(hex(Self::decode(bytes)?))
    }

    fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let bytes = from_hex(&Self::name(), text)?;
        if bytes.len() != N {
            return Err(EncodeError::text(
                &Self::name(),
                format_args!("{N} bytes in hex"),
                text,
            ));
        }
        out.extend(bytes);
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize> KeyCodec for [u8; N] {
    fn key_name() -> Cow<'static, str> {
        Self::name()
    }

    #[inline]
    fn take<'a>(bytes: &mut &'a [u8], _last: bool) -> Result<&'a [u8; N], DecodeError> {
        let (head, rest) = bytes.split_first_chunk().ok_or_else(|| wrong_size::<N>(bytes))?;
        *bytes = rest;
        Ok(head)
    }

    fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
        Ok(hex(Self::take(bytes, last)?))
    }

    fn put_text(text: &Text, out: &mut Vec<u8>, _last: bool) -> Result<(), EncodeError> {
        Self::from_text(text, out)
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize> Encode<[u8; N]> for [u8; N] {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self);
        Ok(())
    }
}

/// The item itself can be written, too.
#[diagnostic::do_not_recommend]
impl<const N: usize> Encode<[u8; N]> for &[u8; N] {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Encode::<[u8; N]>::encode(*self, out)
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize> EncodeKey<[u8; N]> for [u8; N] {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, _last: bool) -> Result<(), EncodeError> {
        out.extend_from_slice(self);
        Ok(())
    }
}

/// The first bytes of the array.
impl<const N: usize> EncodePrefix<[u8; N]> for [u8] {
    fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self);
        Ok(())
    }
}

/// The first bytes of the array.
impl<const N: usize, const M: usize> EncodePrefix<[u8; N]> for [u8; M] {
    fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        EncodePrefix::<[u8; N]>::put_prefix(self.as_slice(), out)
    }
}

impl<'a, const N: usize> FromItem<'a, [u8; N]> for &'a [u8; N] {
    #[inline]
    fn from_item(item: &'a [u8; N]) -> Self {
        item
    }
}

impl<'a, const N: usize> FromItem<'a, [u8; N]> for [u8; N] {
    #[inline]
    fn from_item(item: &'a [u8; N]) -> Self {
        *item
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize> Own for [u8; N] {
    type Owned = [u8; N];

    #[inline]
    fn own(item: &[u8; N]) -> [u8; N] {
        *item
    }
}

#[cold]
fn wrong_size<const N: usize>(bytes: &[u8]) -> DecodeError {
    let want = format_args!("{N} {}", if N == 1 { "byte" } else { "bytes" }).to_string();
    DecodeError::size(&<[u8; N]>::name(), want, bytes.len())
}

/// The bytes as a part of a key that another part follows.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(zero) = rest.iter().position(|byte| *byte == 0) {
        out.extend_from_slice(&rest[..zero]);
        out.extend_from_slice(&[0, 0xff]);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 0]);
    if rest.len() < bytes.len() {
        out.extend_from_slice(bytes);
    }
}

/// Takes from the front what [`escape`] wrote.
fn unescape<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let all = *bytes;
    let mut escapes = 0;
    let mut at = 0;
    loop {
        let zero = all[at..].iter().position(|byte| *byte == 0);
        let Some(zero) = zero.map(|zero| at + zero) else {
            break;
        };
        match all.get(zero + 1) {
            Some(0xff) => {
                escapes += 1;
                at = zero + 2;
            }
            Some(0) if escapes == 0 => {
                *bytes = &all[zero + 2..];
                return Ok(&all[..zero]);
            }
            Some(0) => return unescaped(bytes, &all[..zero], escapes),
            _ => break,
        }
    }
    Err(DecodeError::new(
        "bytes",
        format_args!("wants 00 00 at the end, got {} bytes without", all.len()),
    ))
}

/// The copy that follows escaped bytes, which must be the same bytes.
fn unescaped<'a>(bytes: &mut &'a [u8], escaped: &[u8], escapes: usize) -> Result<&'a [u8], DecodeError> {
    let length = escaped.len() - escapes;
    let copy = bytes[escaped.len() + 2..].split_at_checked(length);
    let same = |copy: &[u8]| {
        let mut written = Vec::with_capacity(escaped.len() + 2 + length);
        escape(copy, &mut written);
        written.starts_with(escaped)
    };
    match copy {
        Some((copy, rest)) if same(copy) => {
            *bytes = rest;
            Ok(copy)
        }
        _ => Err(DecodeError::new(
            "bytes",
            format_args!(
                "wants the {length} bytes repeated after their escaped form, and they are not there"
            ),
        )),
    }
}

/// The text form of bytes: two lower-case hex digits each, which sort as the bytes do.
fn hex(bytes: &[u8]) -> Text {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect::<String>()
        .into()
}

fn from_hex(codec: &str, text: &Text) -> Result<Vec<u8>, EncodeError> {
    let digits = text::string(codec, text)?.as_bytes();
    let pair = |pair: &[u8]| {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(*pair.get(1)?).to_digit(16)?;
        Some((high << 4 | low) as u8)
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    bytes.ok_or_else(|| EncodeError::text(codec, "two hex digits for each byte", text))
}
