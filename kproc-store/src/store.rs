//! What the engine sees of any store: its name and types, and a [`Buffer`] to open it with.

use std::borrow::Cow;

use crate::{
    Buffer,
    codec::{DecodeError, EncodeError, Text},
};

/// A store's name and types, as its environment keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSpec {
    /// The name, unique within its processor.
    pub name: Cow<'static, str>,
    /// What kind of store: `table`.
    pub kind: &'static str,
    /// Name of the key's encoding.
    pub key: Cow<'static, str>,
    /// Name of the value's encoding.
    pub value: Cow<'static, str>,
}

/// The text forms of a store's keys and values, for showing them to people.
#[derive(Debug, Clone, Copy)]
pub struct StoreText {
    /// The text form of an encoded key.
    pub key_to_text: fn(&[u8]) -> Result<Text, DecodeError>,
    /// Encodes the text form of a key; appends it.
    pub key_from_text: fn(&Text, &mut Vec<u8>) -> Result<(), EncodeError>,
    /// The text form of an encoded value.
    pub value_to_text: fn(&[u8]) -> Result<Text, DecodeError>,
}

/// A field that keeps state. Implemented by kproc's own stores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store",
    label = "not a store",
    note = "`#[state]` goes on a field that is a `Table` itself, such as `totals: Table<String, i64>`, and not on a map, an `Option` or a `Box` of one",
    note = "a field that may be lost with a restart is plain Rust, and needs no attribute"
)]
pub trait Store: Send {
    /// The store's kind and types, under this name.
    fn spec(&self, name: Cow<'static, str>) -> StoreSpec;

    /// How its keys and values are shown.
    fn text(&self) -> StoreText;

    /// Opens the store: from here on its methods work.
    fn attach(&mut self, buffer: Buffer);

    /// Closes the store and gives back its buffer, if it was open.
    fn detach(&mut self) -> Option<Buffer>;

    /// The open buffer.
    fn buffer(&mut self) -> Option<&mut Buffer>;
}
