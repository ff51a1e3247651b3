//! What goes wrong between bytes and values.

use std::fmt;

/// Bytes that are not what the codec expects.
///
/// ```text
/// i64: wants 8 bytes, got 4 bytes
/// ```
#[derive(Debug)]
pub struct DecodeError(Box<Problem>);

/// A value that the codec cannot write.
#[derive(Debug)]
pub struct EncodeError(Box<Problem>);

#[derive(Debug)]
struct Problem {
    codec: String,
    what: String,
}

impl DecodeError {
    /// `codec` wanted `want` (such as `8 bytes`) and got `got` bytes.
    #[cold]
    pub fn size(codec: &str, want: impl fmt::Display, got: usize) -> Self {
        Self::new(codec, format_args!("wants {want}, got {}", Bytes(got)))
    }

    /// The value of `codec` was complete before the bytes were.
    #[cold]
    pub fn trailing(codec: &str, all: usize, left: usize) -> Self {
        Self::new(
            codec,
            format_args!(
                "the value ends {} before the end of its {}",
                Bytes(left),
                Bytes(all)
            ),
        )
    }

    /// Any other problem.
    #[cold]
    pub fn new(codec: &str, what: impl fmt::Display) -> Self {
        Self(Box::new(Problem {
            codec: codec.into(),
            what: what.to_string(),
        }))
    }

    /// This problem is in one part of a larger value of `codec`: the `number`-th one, from 1.
    #[cold]
    #[must_use]
    pub fn in_part(self, codec: &str, number: usize) -> Self {
        Self::new(codec, format_args!("part {number}: {self}"))
    }

    /// The codec that could not read the bytes.
    pub fn codec(&self) -> &str {
        &self.0.codec
    }

    /// What is wrong, without the codec's name.
    pub fn what(&self) -> &str {
        &self.0.what
    }
}

impl EncodeError {
    /// Says what is wrong with the value.
    #[cold]
    pub fn new(codec: &str, what: impl fmt::Display) -> Self {
        Self(Box::new(Problem {
            codec: codec.into(),
            what: what.to_string(),
        }))
    }

    /// A text form that is not what `codec` wants.
    #[cold]
    pub fn text(codec: &str, want: impl fmt::Display, got: &super::Text) -> Self {
        // Enough to recognise it; a value may be megabytes long.
        const SHOWN: usize = 100;
        let got = got.to_string();
        let (shown, dots) = match got.char_indices().nth(SHOWN) {
            Some((end, _)) => (&got[..end], "…"),
            None => (got.as_str(), ""),
        };
        Self::new(codec, format_args!("wants {want}, got {shown}{dots}"))
    }

    /// This problem is in one part of a larger value of `codec`: the `number`-th one, from 1.
    #[cold]
    #[must_use]
    pub fn in_part(self, codec: &str, number: usize) -> Self {
        Self::new(codec, format_args!("part {number}: {self}"))
    }

    /// The codec that could not write the value.
    pub fn codec(&self) -> &str {
        &self.0.codec
    }
}

/// `1 byte`, `2 bytes`.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "byte" } else { "bytes" })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.codec, self.what)
    }
}
impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl std::error::Error for DecodeError {}
impl std::error::Error for EncodeError {}
