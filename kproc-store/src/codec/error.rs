//! What goes wrong between bytes and values.

use std::fmt;

/// Bytes that are not what the codec expects.
///
/// ```text
/// i64: wants 8 bytes, got 4
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
        Self::new(codec, format_args!("wants {want}, got {got} bytes"))
    }

    /// The value of `codec` was complete before the bytes were.
    #[cold]
    pub fn trailing(codec: &str, all: usize, left: usize) -> Self {
        Self::new(
            codec,
            format_args!("the value ends {left} bytes before the end of its {all} bytes"),
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

    /// The codec that could not read the bytes.
    pub fn codec(&self) -> &str {
        &self.0.codec
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

    /// The codec that could not write the value.
    pub fn codec(&self) -> &str {
        &self.0.codec
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
