//! `()`: a key or value that is always null, as Java's `VoidSerializer` writes it and as its deserializer
//! demands. `Topic<(), V>` is a topic without keys: nothing can be written for one but null, and bytes where
//! null belongs are an error.

use std::borrow::Cow;

use super::{Codec, Data, DecodeError, EncodeError, FromItem, Own, Text};

impl Data for () {
    type Item<'a> = ();
}

#[diagnostic::do_not_recommend]
impl Codec for () {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("void")
    }

    fn decode(bytes: &[u8]) -> Result<(), DecodeError> {
        Err(DecodeError::size("void", "null", bytes.len()))
    }

    fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
        Self::decode(bytes).map(|()| Text::Null)
    }

    fn from_text(text: &Text, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Err(EncodeError::text("void", "null", text))
    }
}

impl FromItem<'_, ()> for () {
    fn from_item((): ()) -> Self {}
}

#[diagnostic::do_not_recommend]
impl Own for () {
    type Owned = ();

    fn own((): ()) {}
}
