//! How the arguments of a handler come out of a record or a timer, and its result back to kproc.
//!
//! Generated code calls one function of this module per argument and lets inference choose the impl by the type
//! that the handler asks for. So it does not matter how a type is spelled (aliases work), and a type that does
//! not fit is reported by the compiler at that argument. The marker parameters `M` keep the impls apart; they
//! are always inferred.
//!
//! Impls over all items are not recommended by the compiler's messages: our own texts say what fits, and the list
//! of everything that implements a trait would say it worse.
//!
//! What may be here: what generated code needs to call a handler. It is public only through `__private`.

use std::marker::PhantomData;

use kproc_store::{
    Timestamp,
    codec::{Codec, DecodeError, FromItem},
};

use crate::{Context, Error, ErrorKind, Outcome, Record, Result, Topic, timer::TimerId};

/// A key or value that a handler cannot be given. Where it happened is known to the engine.
#[derive(Debug, thiserror::Error)]
enum ArgumentError {
    #[error("the record's {part} cannot be read")]
    Decode {
        part: &'static str,
        #[source]
        error: DecodeError,
    },
    #[error(
        "the record's {part} is null, and the handler takes it as `{wanted}`: an `Option` of that takes nulls too"
    )]
    Null {
        part: &'static str,
        wanted: &'static str,
    },
}

/// What `#[on_message(…)]` may name: a typed topic.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a topic",
    label = "not a `Topic<K, V>`",
    note = "declare `const ORDERS: Topic<K, V> = Topic::new(\"orders\");` with the types of its keys and values, and write `ORDERS` here"
)]
pub trait TypedTopic {
    /// What the topic's keys are.
    type Key: Codec;
    /// What the topic's values are.
    type Value: Codec;
    /// The topic itself.
    fn typed(&self) -> &Topic<Self::Key, Self::Value>;
}

impl<K: Codec, V: Codec> TypedTopic for Topic<K, V> {
    type Key = K;
    type Value = V;

    #[inline]
    fn typed(&self) -> &Self {
        self
    }
}

/// Checks that it is a topic, at the one place where the compiler shall say so if it is not.
#[inline]
pub fn topic<T: TypedTopic>(topic: &T) -> &Topic<T::Key, T::Value> {
    topic.typed()
}

/// Marks arguments that a null does not fit.
#[derive(Debug)]
pub struct Present;
/// Marks arguments that take nulls.
#[derive(Debug)]
pub struct Nullable;
/// Marks a first argument that is the context.
#[derive(Debug)]
pub struct IsContext;
/// Marks a first argument that is not the context.
#[derive(Debug)]
pub struct IsOther<M>(PhantomData<M>);

/// An argument that comes from a key or a value of a `C`.
#[diagnostic::on_unimplemented(
    message = "this handler takes `{Self}`, but the topic holds `{C}`",
    label = "a `{C}` does not arrive as `{Self}`",
    note = "take the codec's own item (`&str` or `String` for `String`, `Order<'_>` for `Order`), or `Option` of it where null is welcome"
)]
pub trait Argument<'r, C: Codec, M>: Sized {
    /// Reads the bytes; `None` is null.
    fn argument(bytes: Option<&'r [u8]>, part: &'static str) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<'r, C: Codec, T: FromItem<'r, C>> Argument<'r, C, Present> for T {
    #[inline]
    fn argument(bytes: Option<&'r [u8]>, part: &'static str) -> Result<T> {
        match bytes {
            Some(bytes) => match C::decode(bytes) {
                Ok(item) => Ok(T::from_item(item)),
                Err(error) => Err(unreadable(part, error)),
            },
            None => Err(null(part, std::any::type_name::<T>())),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<'r, C: Codec, T: FromItem<'r, C>> Argument<'r, C, Nullable> for Option<T> {
    #[inline]
    fn argument(bytes: Option<&'r [u8]>, part: &'static str) -> Result<Option<T>> {
        match bytes {
            Some(bytes) => match C::decode(bytes) {
                Ok(item) => Ok(Some(T::from_item(item))),
                Err(error) => Err(unreadable(part, error)),
            },
            None => Ok(None),
        }
    }
}

#[cold]
fn unreadable(part: &'static str, error: DecodeError) -> Error {
    Error::new(ErrorKind::Deserialization, ArgumentError::Decode { part, error })
}

#[cold]
fn null(part: &'static str, wanted: &'static str) -> Error {
    Error::new(ErrorKind::Deserialization, ArgumentError::Null { part, wanted })
}

/// The first of two arguments of a message handler: the context, or the key.
#[diagnostic::on_unimplemented(
    message = "this handler takes `{Self}` first, which is neither `&mut Context<'_>` nor the topic's key, `{C}`",
    label = "the topic's key is `{C}`",
    note = "two arguments are `(ctx: &mut Context<'_>, value)` or `(key, value)`",
    note = "for the key take the codec's own item (`&str` or `String` for `String`, `Order<'_>` for `Order`), or `Option` of it where null is welcome"
)]
pub trait First<'c, 'x, 'r, C: Codec, M>: Sized {
    /// Takes the context or reads the key.
    fn first(ctx: &'c mut Context<'x>, key: Option<&'r [u8]>) -> Result<Self>;
}

impl<'c, 'x, 'r, C: Codec> First<'c, 'x, 'r, C, IsContext> for &'c mut Context<'x> {
    #[inline]
    fn first(ctx: &'c mut Context<'x>, _: Option<&'r [u8]>) -> Result<Self> {
        Ok(ctx)
    }
}

impl<'c, 'x, 'r, C: Codec, T: Argument<'r, C, M>, M> First<'c, 'x, 'r, C, IsOther<M>> for T {
    #[inline]
    fn first(_: &'c mut Context<'x>, key: Option<&'r [u8]>) -> Result<Self> {
        T::argument(key, "key")
    }
}

/// The first of two arguments of a message handler.
#[inline]
pub fn first<'c, 'x, 'r, K, V, T, M>(
    _: &Topic<K, V>,
    ctx: &'c mut Context<'x>,
    record: &Record<'r>,
) -> Result<T>
where
    K: Codec,
    T: First<'c, 'x, 'r, K, M>,
{
    T::first(ctx, record.key)
}

/// An argument that is a record's key.
#[inline]
pub fn key<'r, K, V, T, M>(_: &Topic<K, V>, record: &Record<'r>) -> Result<T>
where
    K: Codec,
    T: Argument<'r, K, M>,
{
    T::argument(record.key, "key")
}

/// An argument that is a record's value.
#[inline]
pub fn value<'r, K, V, T, M>(_: &Topic<K, V>, record: &Record<'r>) -> Result<T>
where
    V: Codec,
    T: Argument<'r, V, M>,
{
    T::argument(record.value, "value")
}

/// An argument that can be nothing but the context.
#[diagnostic::on_unimplemented(
    message = "expected `&mut Context<'_>`, found `{Self}`",
    label = "this argument is the context",
    note = "handlers take the context first: `(&mut self, ctx: &mut Context<'_>, …)`"
)]
pub trait ContextArgument<'c, 'x>: Sized {
    /// Takes the context.
    fn context(ctx: &'c mut Context<'x>) -> Self;
}

impl<'c, 'x> ContextArgument<'c, 'x> for &'c mut Context<'x> {
    #[inline]
    fn context(ctx: &'c mut Context<'x>) -> Self {
        ctx
    }
}

/// An argument that can be nothing but the context.
#[inline]
pub fn context<'c, 'x, T: ContextArgument<'c, 'x>>(ctx: &'c mut Context<'x>) -> T {
    T::context(ctx)
}

/// A periodic timer's firing: nothing but its time.
#[derive(Debug, Clone, Copy)]
pub struct Periodic;

/// An argument that comes from the firing `F` of a timer.
#[diagnostic::on_unimplemented(
    message = "a timer does not hand `{Self}` to its handler",
    label = "not an argument of a timer",
    note = "an `#[every]` method takes `ctx: &mut Context<'_>` and `now: Timestamp`, both optional, in this order",
    note = "an `#[on_schedule]` method takes `ctx: &mut Context<'_>`, `timer: TimerId` and `now: Timestamp`, all optional, in this order"
)]
pub trait TimerArgument<F>: Sized {
    /// Takes it out of the firing.
    fn argument(firing: F, now: Timestamp) -> Self;
}

impl<F> TimerArgument<F> for Timestamp {
    #[inline]
    fn argument(_: F, now: Timestamp) -> Self {
        now
    }
}

impl TimerArgument<TimerId> for TimerId {
    #[inline]
    fn argument(firing: TimerId, _: Timestamp) -> Self {
        firing
    }
}

/// The first argument of a timer's handler: the context, or what comes from the firing.
#[diagnostic::on_unimplemented(
    message = "a timer does not hand `{Self}` to its handler",
    label = "not an argument of a timer",
    note = "an `#[every]` method takes `ctx: &mut Context<'_>` and `now: Timestamp`, both optional, in this order",
    note = "an `#[on_schedule]` method takes `ctx: &mut Context<'_>`, `timer: TimerId` and `now: Timestamp`, all optional, in this order"
)]
pub trait FirstOfTimer<'c, 'x, F, M>: Sized {
    /// Takes the context, or what comes from the firing.
    fn first(ctx: &'c mut Context<'x>, firing: F, now: Timestamp) -> Self;
}

impl<'c, 'x, F> FirstOfTimer<'c, 'x, F, IsContext> for &'c mut Context<'x> {
    #[inline]
    fn first(ctx: &'c mut Context<'x>, _: F, _: Timestamp) -> Self {
        ctx
    }
}

impl<'c, 'x, F, T: TimerArgument<F>> FirstOfTimer<'c, 'x, F, IsOther<()>> for T {
    #[inline]
    fn first(_: &'c mut Context<'x>, firing: F, now: Timestamp) -> Self {
        T::argument(firing, now)
    }
}

/// The first argument of a timer's handler.
#[inline]
pub fn timer_first<'c, 'x, F, T, M>(ctx: &'c mut Context<'x>, firing: F, now: Timestamp) -> T
where
    T: FirstOfTimer<'c, 'x, F, M>,
{
    T::first(ctx, firing, now)
}

/// Another argument of a timer's handler.
#[inline]
pub fn timer<F, T: TimerArgument<F>>(firing: F, now: Timestamp) -> T {
    T::argument(firing, now)
}

/// The result of a handler, as kproc sees it.
#[inline]
pub fn outcome<O: Outcome>(result: O) -> Result<()> {
    result.outcome()
}

/// A number that was not declared: the caller's mistake, not the record's.
#[cold]
pub fn undeclared(what: &'static str, number: impl std::fmt::Debug) -> Result<()> {
    Err(Error::msg(format_args!(
        "{what} {number:?} was not declared by this processor"
    )))
}

#[cfg(test)]
mod tests;
