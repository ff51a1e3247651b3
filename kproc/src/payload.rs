//! What can be sent as a key or a value.

use kproc_store::codec::{Codec, Encode, EncodeError};

/// What `send` takes for a key or a value: `&item`, `Option` of it, or [`Null`].
///
/// Never the item by value: were both possible, clippy (`needless_borrows_for_generic_args`) would complain
/// about every `&total`.
#[diagnostic::on_unimplemented(
    message = "expected a `{C}` by reference, as the topic holds it; found `{Self}`",
    label = "not a reference to what the topic holds, a `{C}`",
    note = "pass a reference to the item (`&str` for `String`, `&order` for `Order`), an `Option` of one, or `Null`"
)]
pub trait Payload<C: Codec> {
    /// Appends the bytes to `out`; `false`: it is null.
    fn write(&self, out: &mut Vec<u8>) -> Result<bool, EncodeError>;
}

#[diagnostic::do_not_recommend]
impl<C: Codec, T: Encode<C> + ?Sized> Payload<C> for &T {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) -> Result<bool, EncodeError> {
        <T as Encode<C>>::encode(self, out)?;
        Ok(true)
    }
}

#[diagnostic::do_not_recommend]
impl<C: Codec, P: Payload<C>> Payload<C> for Option<P> {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) -> Result<bool, EncodeError> {
        match self {
            Some(payload) => payload.write(out),
            None => Ok(false),
        }
    }
}

/// The null key or value. (A bare `None` has no type to infer.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Null;

#[diagnostic::do_not_recommend]
impl<C: Codec> Payload<C> for Null {
    #[inline]
    fn write(&self, _: &mut Vec<u8>) -> Result<bool, EncodeError> {
        Ok(false)
    }
}
