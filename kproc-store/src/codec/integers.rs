//! Integers: two's complement, big-endian, as Java's `ByteBuffer` writes them; as keys with the sign bit flipped.

use std::borrow::Cow;

use super::{Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, FromItem, KeyCodec, Own, Text};

/// Codecs of one integer type; `$flip` is what its sign bit needs in a key: bytes sort without a sign.
macro_rules! integers {
    ($($int:ident, $size:literal, $flip:expr;)*) => { $(
        impl Data for $int {
            type Item<'a> = $int;
        }

        #[diagnostic::do_not_recommend]
        impl Codec for $int {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($int))
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<$int, DecodeError> {
                match bytes.try_into() {
                    Ok(bytes) => Ok($int::from_be_bytes(bytes)),
                    Err(_) => Err(DecodeError::size(stringify!($int), $size, bytes.len())),
                }
            }

            fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
                Ok(Self::decode(bytes)?.into())
            }

            fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                Encode::<$int>::encode(&number::<$int>(text)?, out)
            }
        }

        #[diagnostic::do_not_recommend]
        impl Encode<$int> for $int {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                out.extend_from_slice(&self.to_be_bytes());
                Ok(())
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyCodec for $int {
            fn key_name() -> Cow<'static, str> {
                Self::name()
            }

            #[inline]
            fn take(bytes: &mut &[u8], _last: bool) -> Result<$int, DecodeError> {
                match bytes.split_first_chunk() {
                    Some((head, rest)) => {
                        *bytes = rest;
                        Ok($int::from_be_bytes(*head) ^ $flip)
                    }
                    None => Err(DecodeError::size(stringify!($int), $size, bytes.len())),
                }
            }

            fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
                Ok(Self::take(bytes, last)?.into())
            }

            fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
                EncodeKey::<$int>::put(&number::<$int>(text)?, out, last)
            }
        }

        #[diagnostic::do_not_recommend]
        impl EncodeKey<$int> for $int {
            #[inline]
            fn put(&self, out: &mut Vec<u8>, _last: bool) -> Result<(), EncodeError> {
                out.extend_from_slice(&(*self ^ $flip).to_be_bytes());
                Ok(())
            }
        }

        impl FromItem<'_, $int> for $int {
            #[inline]
            fn from_item(item: $int) -> Self {
                item
            }
        }

        #[diagnostic::do_not_recommend]
        impl Own for $int {
            type Owned = $int;

            #[inline]
            fn own(item: $int) -> $int {
                item
            }
        }

        impl Whole for $int {
            const NAME: &'static str = stringify!($int);
            const RANGE: (i128, i128) = ($int::MIN as i128, $int::MAX as i128);
        }
    )* };
}

integers! {
    i8, "1 byte", i8::MIN;
    i16, "2 bytes", i16::MIN;
    i32, "4 bytes", i32::MIN;
    i64, "8 bytes", i64::MIN;
    u8, "1 byte", 0;
    u16, "2 bytes", 0;
    u32, "4 bytes", 0;
    u64, "8 bytes", 0;
}

/// What the error of [`number`] says of a type.
trait Whole: TryFrom<i128> {
    const NAME: &'static str;
    const RANGE: (i128, i128);
}

/// The integer in a text form. Exact or an error: `1e3` and `1.0` are no integers, nothing is cut to size.
fn number<N: Whole>(text: &Text) -> Result<N, EncodeError> {
    let whole = text
        .as_i64()
        .map(i128::from)
        .or_else(|| text.as_u64().map(i128::from));
    whole.and_then(|n| N::try_from(n).ok()).ok_or_else(|| {
        let (least, most) = N::RANGE;
        EncodeError::text(
            N::NAME,
            format_args!("a whole number from {least} to {most}"),
            text,
        )
    })
}
