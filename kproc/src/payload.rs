//! What can be sent as a key or a value.
//!
//! The two traits are told apart by what the compiler says of them only: a key that is forgotten shows as a value in its
//! place.

use kproc_store::codec::{Codec, Encode, EncodeError};

/// What `send` takes for a value, and for a key: `&item`, `Option` of it, or [`Null`].
///
/// Never the item by value: were both possible, clippy (`needless_borrows_for_generic_args`) would complain
/// about every `&total`.
/// ```
/// use kproc::prelude::*;
///
/// const TOTALS: Topic<String, i64> = Topic::new("totals");
///
/// # fn handler(ctx: &mut Context<'_>, word: &str, total: i64) -> Result<()> {
/// ctx.send(&TOTALS, word, &total)?;
/// ctx.send(&TOTALS, Some(word), None::<&i64>)?; // the value is null: a tombstone
/// ctx.send(&TOTALS, Null, &total)?; // the key is
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "the value of this topic is a `{C}`, passed by reference; found `{Self}`",
    label = "the value goes here, as a reference to a `{C}`",
    note = "pass a reference (`&str` for `String`, `&order` for `Order`), an `Option` of one, or `Null` for a tombstone"
)]
pub trait Payload<C: Codec> {
    /// Appends the bytes to `out`; `false`: it is null.
    fn write(&self, out: &mut Vec<u8>) -> Result<bool, EncodeError>;
}

/// What `send` takes for a key: every [`Payload`], that is `&item`, `Option` of it, or [`Null`] for a record without a key.
///
/// ```
/// use kproc::prelude::*;
///
/// const TOTALS: Topic<String, i64> = Topic::new("totals");
///
/// # fn handler(ctx: &mut Context<'_>, word: &str, total: i64) -> Result<()> {
/// ctx.send(&TOTALS, word, &total)?;
/// ctx.send(&TOTALS, Null, &total)?; // no key
/// # Ok(())
/// # }
/// ```
///
/// Nothing else can implement it: it says of a key that does not fit that it is the key.
#[diagnostic::on_unimplemented(
    message = "the key of this topic is a `{C}`, passed by reference; found `{Self}`",
    label = "the key goes here, before the value: `(&TOPIC, key, value)`",
    note = "pass a reference (`&str` for `String`, `&order` for `Order`), an `Option` of one, or `Null` for a record without a key"
)]
pub trait KeyPayload<C: Codec>: Payload<C> {}

#[diagnostic::do_not_recommend]
impl<C: Codec, P: Payload<C>> KeyPayload<C> for P {}

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

/// The null key or value: no key, or a tombstone, which deletes what is known of its key. (A bare `None` has no type to infer.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Null;

#[diagnostic::do_not_recommend]
impl<C: Codec> Payload<C> for Null {
    #[inline]
    fn write(&self, _: &mut Vec<u8>) -> Result<bool, EncodeError> {
        Ok(false)
    }
}
