//! The beginning of a key, to find all keys that begin so.

use super::{EncodeError, KeyCodec};

/// A value that is the beginning of keys of type `C`.
///
/// For text and bytes it is a beginning of the text or the bytes: `"ab"` finds `"ab"` and `"abc"`. For a tuple
/// it is a shorter tuple of leading parts, each of them whole: `("ab",)` finds `("ab", 1)`, and never
/// `("abc", 1)`.
///
/// ```
/// use kproc_store::codec::{EncodeKey, EncodePrefix};
///
/// type Key = (String, u8);
/// let key = |word: &str| {
///     let mut bytes = Vec::new();
///     EncodeKey::<Key>::put(&(word, 7), &mut bytes, true).unwrap();
///     bytes
/// };
/// let mut prefix = Vec::new();
/// EncodePrefix::<Key>::put_prefix(&("ab",), &mut prefix).unwrap();
/// assert!(key("ab").starts_with(&prefix));
/// assert!(!key("abc").starts_with(&prefix));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the beginning of a key of type `{C}`",
    label = "not the beginning of a `{C}`",
    note = "text and bytes begin with text and bytes; a tuple begins with a shorter tuple of its first parts: `(\"ab\",)` for `(String, i64)`"
)]
pub trait EncodePrefix<C: KeyCodec> {
    /// Appends the bytes with which the keys begin. On an error `out` may hold a part, which the caller drops.
    fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

#[diagnostic::do_not_recommend]
impl<C: KeyCodec, T: EncodePrefix<C> + ?Sized> EncodePrefix<C> for &T {
    fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        (**self).put_prefix(out)
    }
}
