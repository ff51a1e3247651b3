//! What serde has to know of a type that is a codec by serde, as one trait: so the compiler tells once of a type that it
//! does not know, in our words.
//!
//! It has the functions that derived codecs call, and no supertraits: the call of a function with bounds is an error of
//! its own for each, and that of a method is the same error each time.

use serde::{Deserialize, Serialize};

use super::{DecodeError, EncodeError, Text, json, postcard};

/// A type that serde writes, and reads from what lives for `'de`: every one that is `Serialize` and `Deserialize<'de>`.
///
/// Not to be implemented by hand: derive serde's two traits, and it is. Its methods are for derived codecs and may change in
/// any release.
#[diagnostic::on_unimplemented(
    message = "serde cannot write and read `{Self}`",
    label = "this takes `#[derive(Serialize, Deserialize)]`",
    note = "add `#[derive(serde::Serialize, serde::Deserialize)]` to `{Self}` and to the types that it is made of; both are needed, even if it is only read or only sent",
    note = "of a type from another crate, look for the crate's feature `serde`"
)]
pub trait Serde<'de>: Sized {
    /// Reads JSON.
    #[doc(hidden)]
    fn from_json(bytes: &'de [u8]) -> Result<Self, DecodeError>;
    /// Appends JSON.
    #[doc(hidden)]
    fn to_json(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
    /// Reads postcard.
    #[doc(hidden)]
    fn from_postcard(bytes: &'de [u8]) -> Result<Self, DecodeError>;
    /// Appends postcard.
    #[doc(hidden)]
    fn to_postcard(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
    /// The text form of what is written as postcard.
    #[doc(hidden)]
    fn to_text(&self) -> Result<Text, DecodeError>;
    /// The value of such a text form.
    #[doc(hidden)]
    fn from_text(text: &'de Text) -> Result<Self, EncodeError>;
}

#[diagnostic::do_not_recommend]
impl<'de, T: Serialize + Deserialize<'de>> Serde<'de> for T {
    #[inline]
    fn from_json(bytes: &'de [u8]) -> Result<Self, DecodeError> {
        json::decode(bytes)
    }

    #[inline]
    fn to_json(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        json::encode(self, out)
    }

    #[inline]
    fn from_postcard(bytes: &'de [u8]) -> Result<Self, DecodeError> {
        postcard::decode(bytes)
    }

    #[inline]
    fn to_postcard(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        postcard::encode(self, out)
    }

    fn to_text(&self) -> Result<Text, DecodeError> {
        postcard::to_text(self)
    }

    fn from_text(text: &'de Text) -> Result<Self, EncodeError> {
        postcard::from_text(text)
    }
}
