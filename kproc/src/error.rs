//! Two kinds of errors. What kproc's own calls return ([`StoreError`], [`SendError`](crate::SendError), …)
//! implements `std::error::Error`, so it fits into anyhow and thiserror. [`Error`] is the catch-all of a
//! handler, as in anyhow: made from anything by `?`.

use std::{any::Any, fmt};

pub use kproc_store::{
    StoreError,
    codec::{DecodeError, EncodeError},
};

/// Any error, in a box.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a handler.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// What a failure came from: each kind has a policy of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The record's key or value is not what the handler takes.
    Deserialization,
    /// The handler failed.
    Processing,
    /// The handler panicked.
    Panic,
}

/// What a handler failed with: the catch-all behind [`kproc::Result`](Result).
///
/// It takes every error by `?` or `into()`, texts too, and is therefore not a `std::error::Error` itself.
///
/// ```
/// use kproc::Result;
///
/// fn cents(price: &str) -> Result<u64> {
///     let price: f64 = price.parse()?;
///     if price < 0.0 {
///         return Err(format!("a price cannot be negative, such as {price}").into());
///     }
///     Ok((price * 100.0).round() as u64)
/// }
/// # assert_eq!(cents("1.25").unwrap(), 125);
/// # assert!(cents("-1").is_err() && cents("much").is_err());
/// ```
///
/// One pointer wide, so that the result of a handler that succeeds is passed in a register.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    error: BoxError,
}

impl Error {
    /// An error of this kind.
    #[cold]
    pub fn new(kind: ErrorKind, error: impl Into<BoxError>) -> Self {
        Self(Box::new(Inner {
            kind,
            error: error.into(),
        }))
    }

    /// An error of a handler, in words.
    #[cold]
    pub fn msg(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Processing, message.to_string())
    }

    /// What it came from.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The error itself, for functions that return a [`BoxError`].
    pub fn into_inner(self) -> BoxError {
        self.0.error
    }

    /// The error itself.
    pub fn get_ref(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0.error
    }
}

/// As `Display`: it is what a `main` or a test shows that returns an error. The kind is not part of it, for of an
/// error taken by `?` it says no more than that some handler has returned it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error and its causes, outermost first.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)?;
        let mut cause = self.0.error.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// From errors, boxed errors, `String` and `&str`. (That is why a [`BoxError`] is not made from an [`Error`] by
/// `?`: the two directions exclude each other. There is [`Error::into_inner`].)
impl<E: Into<BoxError>> From<E> for Error {
    #[cold]
    fn from(error: E) -> Self {
        Self::new(ErrorKind::Processing, error)
    }
}

/// What a handler may return: nothing, or a result of nothing with any error that kproc can take ([`IntoError`]).
///
/// ```
/// use kproc::Outcome;
///
/// assert!(().outcome().is_ok());
/// assert!("7".parse::<i64>().map(drop).outcome().is_ok());
/// assert!("x".parse::<i64>().map(drop).outcome().is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler returns `()` or `Result<()>`, not `{Self}`",
    label = "not the result of a handler",
    note = "nobody takes what a handler returns: keep it in a store, or send it by `ctx.send(&TOPIC, key, &value)?`, and return `Ok(())`",
    note = "a handler that waits is an `async fn` that returns `Result<()>`; it does not return a future"
)]
pub trait Outcome {
    /// The result as kproc sees it.
    fn outcome(self) -> Result<()>;
}

#[diagnostic::do_not_recommend]
impl Outcome for () {
    #[inline]
    fn outcome(self) -> Result<()> {
        Ok(())
    }
}

impl<E: IntoError> Outcome for std::result::Result<(), E> {
    #[inline]
    fn outcome(self) -> Result<()> {
        self.map_err(IntoError::into_error)
    }
}

/// An error a handler may return.
///
/// It is what turns into an [`Error`]: every `std::error::Error` that is `Send + Sync`, texts, and boxed errors.
///
/// ```
/// use kproc::IntoError;
///
/// assert_eq!("no such order".into_error().to_string(), "no such order");
/// let error = "x".parse::<i64>().expect_err("no number");
/// assert_eq!(error.into_error().to_string(), "invalid digit found in string");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error a handler can return",
    label = "does not turn into `kproc::Error`",
    note = "return `kproc::Result<()>`: it takes by `?` every `std::error::Error` that is `Send + Sync + 'static`, and texts by `.into()`: `Err(\"…\".into())`",
    note = "`Box<dyn Error>` is one with `Send + Sync` only: `Box<dyn Error + Send + Sync>`; a type of your own is one with `impl std::error::Error`"
)]
pub trait IntoError {
    /// The error as kproc sees it.
    fn into_error(self) -> Error;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Error>> IntoError for E {
    #[cold]
    fn into_error(self) -> Error {
        self.into()
    }
}

/// What a panic says.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_boxed_errors_and_texts_become_one() {
        fn taken<E: Into<Error>>(error: E) -> String {
            let error: Error = error.into();
            assert_eq!(error.kind(), ErrorKind::Processing);
            // What a test or a `main` shows that returns it.
            assert_eq!(format!("{error:?}"), error.to_string());
            error.to_string()
        }
        assert_eq!(taken("negative"), "negative");
        assert_eq!(taken(String::from("negative")), "negative");
        assert_eq!(taken(BoxError::from("negative")), "negative");
        assert_eq!(taken(fmt::Error), fmt::Error.to_string());
    }

    #[test]
    fn its_kind_survives_the_way_out_of_a_handler() {
        fn helper() -> Result<()> {
            Err(Error::new(ErrorKind::Deserialization, "odd"))
        }
        let handler = || -> Result<()> {
            helper()?;
            Ok(())
        };
        let error = handler().outcome().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deserialization);
        assert_eq!(error.into_inner().to_string(), "odd");
    }
}
