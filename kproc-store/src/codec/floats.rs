//! Floats: IEEE 754, big-endian, as Java's `FloatSerializer` and `DoubleSerializer` write them. As keys they
//! have the total order of `f64::total_cmp`, in which `-0.0` and `0.0` are two keys and every NaN is one, too.

use std::borrow::Cow;

use super::{Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, FromItem, KeyCodec, Own, Text};

macro_rules! floats {
    ($($float:ident, $bits:ident, $size:literal;)*) => { $(
        impl Data for $float {
            type Item<'a> = $float;
        }

        #[diagnostic::do_not_recommend]
        impl Codec for $float {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($float))
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<$float, DecodeError> {
                match bytes.try_into() {
                    Ok(bytes) => Ok($float::from_be_bytes(bytes)),
                    Err(_) => Err(DecodeError::size(stringify!($float), $size, bytes.len())),
                }
            }

            fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
                Ok(Self::decode(bytes)?.show())
            }

            fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                Encode::<$float>::encode(&$float::read(text)?, out)
            }
        }

        #[diagnostic::do_not_recommend]
        impl Encode<$float> for $float {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                out.extend_from_slice(&self.to_be_bytes());
                Ok(())
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyCodec for $float {
            fn key_name() -> Cow<'static, str> {
                Self::name()
            }

            #[inline]
            fn take(bytes: &mut &[u8], _last: bool) -> Result<$float, DecodeError> {
                const SIGN: $bits = 1 << ($bits::BITS - 1);
                match bytes.split_first_chunk() {
                    Some((head, rest)) => {
                        *bytes = rest;
                        let bits = $bits::from_be_bytes(*head);
                        Ok($float::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN }))
                    }
                    None => Err(DecodeError::size(stringify!($float), $size, bytes.len())),
                }
            }

            fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
                Ok(Self::take(bytes, last)?.show())
            }

            fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
                EncodeKey::<$float>::put(&$float::read(text)?, out, last)
            }
        }

        #[diagnostic::do_not_recommend]
        impl EncodeKey<$float> for $float {
            /// Positive numbers sort by their bits once the sign bit is set; negative ones against them.
            #[inline]
            fn put(&self, out: &mut Vec<u8>, _last: bool) -> Result<(), EncodeError> {
                const SIGN: $bits = 1 << ($bits::BITS - 1);
                let bits = self.to_bits();
                let key = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                out.extend_from_slice(&key.to_be_bytes());
                Ok(())
            }
        }

        impl FromItem<'_, $float> for $float {
            #[inline]
            fn from_item(item: $float) -> Self {
                item
            }
        }

        #[diagnostic::do_not_recommend]
        impl Own for $float {
            type Owned = $float;

            #[inline]
            fn own(item: $float) -> $float {
                item
            }
        }
    )* };
}

floats! {
    f32, u32, "4 bytes";
    f64, u64, "8 bytes";
}

/// The text form: a JSON number where JSON has one; else `"Infinity"`, `"-Infinity"`, `"NaN"` (the NaN that
/// Java writes and Rust calls `NAN`), or `"NaN:"` with the bits in hex for every other NaN.
trait Shown: Sized {
    fn show(self) -> Text;
    fn read(text: &Text) -> Result<Self, EncodeError>;
}

const WANT: &str = "a number, \"Infinity\", \"-Infinity\", \"NaN\" or \"NaN:\" with its bits in hex";

impl Shown for f64 {
    fn show(self) -> Text {
        if self.is_nan() {
            return nan(
                self.to_bits() == f64::NAN.to_bits(),
                format_args!("{:016x}", self.to_bits()),
            );
        }
        infinity(self).unwrap_or_else(|| self.into())
    }

    fn read(text: &Text) -> Result<Self, EncodeError> {
        let read = match text {
            Text::String(special) => match nan_bits(special, 16) {
                Some(bits) => Some(Self::from_bits(bits)).filter(|nan| nan.is_nan()),
                None => named(special),
            },
            Text::Number(_) => text.as_f64().filter(|&float| holds(text, float)),
            _ => None,
        };
        read.ok_or_else(|| EncodeError::text("f64", WANT, text))
    }
}

impl Shown for f32 {
    fn show(self) -> Text {
        if self.is_nan() {
            return nan(
                self.to_bits() == f32::NAN.to_bits(),
                format_args!("{:08x}", self.to_bits()),
            );
        }
        infinity(self.into()).unwrap_or_else(|| {
            // `0.1`, not `0.10000000149011612`: the shortest digits that name this f32, if they come back as it.
            let short = self
                .to_string()
                .parse::<f64>()
                .ok()
                .filter(|short| (*short as f32).to_bits() == self.to_bits());
            short.unwrap_or_else(|| self.into()).into()
        })
    }

    fn read(text: &Text) -> Result<Self, EncodeError> {
        let read = match text {
            Text::String(special) => match nan_bits(special, 8) {
                Some(bits) => Some(Self::from_bits(bits as u32)).filter(|nan| nan.is_nan()),
                None => named(special).map(|float| float as f32),
            },
            // Too large for an f32 is an error, not infinity.
            Text::Number(_) => text
                .as_f64()
                .map(|float| float as f32)
                .filter(|float| float.is_finite() && holds(text, f64::from(*float))),
            _ => None,
        };
        read.ok_or_else(|| EncodeError::text("f32", WANT, text))
    }
}

fn nan(usual: bool, bits: std::fmt::Arguments<'_>) -> Text {
    if usual {
        "NaN".into()
    } else {
        format!("NaN:{bits}").into()
    }
}

fn nan_bits(special: &str, digits: usize) -> Option<u64> {
    let bits = special.strip_prefix("NaN:")?;
    let hex = bits.len() == digits && bits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if hex {
        u64::from_str_radix(bits, 16).ok()
    } else {
        None
    }
}

fn infinity(float: f64) -> Option<Text> {
    float.is_infinite().then(|| {
        if float > 0.0 {
            "Infinity".into()
        } else {
            "-Infinity".into()
        }
    })
}

fn named(special: &str) -> Option<f64> {
    match special {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ => None,
    }
}

/// Whether `float` is the number in `text`. A whole number must be exactly it (`9007199254740993` is no f64);
/// a number with a point or an exponent names the nearest float.
fn holds(text: &Text, float: f64) -> bool {
    let whole = text
        .as_i64()
        .map(i128::from)
        .or_else(|| text.as_u64().map(i128::from));
    whole.is_none_or(|whole| float as i128 == whole)
}
