//! What a handler of a [`#[processor]`](macro@crate::processor) may take: the traits behind its arguments, which the
//! compiler names when one does not fit.
//!
//! | trait | an argument that | is implemented for |
//! |---|---|---|
//! | [`Argument`] | is a key or value | what the topic's type lends ([`FromItem`]), and `Option` of it |
//! | [`Unwrapped`] | is one, and written as `Json<T>` or `Postcard<T>` | what is an [`Argument`] |
//! | [`First`] | is the first of two of `#[on_message]` | `&mut Context<'_>`, and what is an [`Argument`] for the key |
//! | [`ContextArgument`] | is the first of three of `#[on_message]` | `&mut Context<'_>` |
//! | [`FrameArgument`] | is the only one of `#[on_start]`, `#[on_stop]` | `&mut Context<'_>` |
//! | [`EveryArgument`] | comes from a timer of `#[every]` | [`Timestamp`](crate::Timestamp) |
//! | [`FirstOfEvery`] | is the first of `#[every]` | `&mut Context<'_>`, and what is an [`EveryArgument`] |
//! | [`ScheduledArgument`] | comes from a timer of `ctx.schedule` | [`TimerId`](crate::TimerId), [`Timestamp`](crate::Timestamp) |
//! | [`FirstOfScheduled`] | is the first of `#[on_schedule]` | `&mut Context<'_>`, and what is a [`ScheduledArgument`] |
//! | [`ContextOfScheduled`] | is the first of three of `#[on_schedule]` | `&mut Context<'_>` |
//! | [`TypedTopic`] | (the topic in `#[on_message(…)]`) | [`Topic<K, V>`](Topic) |
//!
//! They are not made to be implemented or called by hand, and may change in any release; a type of your own becomes an argument by
//! [`FromItem`].

// Generated code calls one method per argument and lets inference choose the impl by the type that the handler asks
// for. So it does not matter how a type is spelled (aliases work), and a type that does not fit is reported by the
// compiler at that argument. It calls methods of the traits themselves, for a function with a bound would be named in
// the message, too. The marker parameters `M` keep the impls apart; they are always inferred, and come first: the
// compiler blames an argument of the call that has to do with the first parameter, and none has to do with `M`.
//
// Impls are not recommended by the compiler's messages: our own texts say what fits, and the list of everything that
// implements a trait would say it worse.
//
// What may be here: what generated code needs to call a handler.

mod timers;

use std::marker::PhantomData;

use kproc_store::codec::{Codec, DecodeError, FromItem};

use crate::{Context, Error, ErrorKind, Record, Result, Topic};

pub use timers::{
    ContextOfScheduled, EveryArgument, FirstOfEvery, FirstOfScheduled, FrameArgument, ScheduledArgument,
};

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
///
/// Implemented by kproc alone: see [the module](self).
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

#[diagnostic::do_not_recommend]
impl<K: Codec, V: Codec> TypedTopic for Topic<K, V> {
    type Key = K;
    type Value = V;

    #[inline]
    fn typed(&self) -> &Self {
        self
    }
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
///
/// Implemented by kproc alone: see [the module](self).
#[diagnostic::on_unimplemented(
    message = "this handler takes `{Self}`, which a topic of `{C}` does not give",
    label = "a topic of `{C}` does not give this",
    note = "a topic of `String` gives `&str` (or `String`), of `i64` it gives `i64`, of `Order` it gives `Order` (or `Order<'_>`), of `Json<T>` it gives `T`; and `Option` of any, which is `None` for null",
    note = "a method takes `(value)`, `(key, value)`, `(ctx, value)` or `(ctx, key, value)`; what else there is of a record is in the context"
)]
pub trait Argument<'r, M, C: Codec>: Sized {
    /// From the record's key.
    fn key<V>(topic: &Topic<C, V>, record: &Record<'r>) -> Result<Self>;
    /// From the record's value.
    fn value<K>(topic: &Topic<K, C>, record: &Record<'r>) -> Result<Self>;
}

impl<'r, C: Codec, T: Part<'r, M, C>, M> Argument<'r, M, C> for T {
    #[inline]
    fn key<V>(_: &Topic<C, V>, record: &Record<'r>) -> Result<Self> {
        T::read(record.key, "key")
    }

    #[inline]
    fn value<K>(_: &Topic<K, C>, record: &Record<'r>) -> Result<Self> {
        T::read(record.value, "value")
    }
}

/// An [`Argument`] whose type is written as that of a codec: as `Json<T>`, or as a type of one's own that is called so.
///
/// Implemented by kproc alone: see [the module](self).
//
// Before `Argument`, for only the macro knows what is within the brackets.
#[diagnostic::on_unimplemented(
    message = "`{Self}` names a format, and a topic of it hands over the `{T}` itself: write `{T}`",
    label = "write `{T}` here",
    note = "`Json<T>` and `Postcard<T>` are written in topics and tables only: they are no values"
)]
pub trait Unwrapped<'r, M, C: Codec, T>: Sized {
    /// From the record's key.
    fn key<V>(topic: &Topic<C, V>, record: &Record<'r>) -> Result<Self>;
    /// From the record's value.
    fn value<K>(topic: &Topic<K, C>, record: &Record<'r>) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<'r, C: Codec, A: Argument<'r, M, C>, M, T> Unwrapped<'r, M, C, T> for A {
    #[inline]
    fn key<V>(topic: &Topic<C, V>, record: &Record<'r>) -> Result<Self> {
        A::key(topic, record)
    }

    #[inline]
    fn value<K>(topic: &Topic<K, C>, record: &Record<'r>) -> Result<Self> {
        A::value(topic, record)
    }
}

/// What an [`Argument`] is made of: it reads bytes.
///
/// Implemented by kproc alone: see [the module](self).
//
// A layer of its own, for the compiler believes to know better than our notes what is wrong with a reference in a call:
// it would advise `&&i64` for `&i64`.
#[diagnostic::on_unimplemented(
    message = "this handler takes `{Self}`, which a topic of `{C}` does not give",
    label = "a topic of `{C}` does not give this",
    note = "a topic of `String` gives `&str` (or `String`), of `i64` it gives `i64`, of `Order` it gives `Order` (or `Order<'_>`), of `Json<T>` it gives `T`; and `Option` of any, which is `None` for null",
    note = "a method takes `(value)`, `(key, value)`, `(ctx, value)` or `(ctx, key, value)`; what else there is of a record is in the context"
)]
pub trait Part<'r, M, C: Codec>: Sized {
    /// Reads the bytes; `None` is null.
    fn read(bytes: Option<&'r [u8]>, part: &'static str) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<'r, C: Codec, T: FromItem<'r, C>> Part<'r, Present, C> for T {
    #[inline]
    fn read(bytes: Option<&'r [u8]>, part: &'static str) -> Result<T> {
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
impl<'r, C: Codec, T: FromItem<'r, C>> Part<'r, Nullable, C> for Option<T> {
    #[inline]
    fn read(bytes: Option<&'r [u8]>, part: &'static str) -> Result<Option<T>> {
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
///
/// Implemented by kproc alone: see [the module](self).
#[diagnostic::on_unimplemented(
    message = "this handler takes `{Self}` first, which is neither `&mut Context<'_>` nor the topic's key, `{C}`",
    label = "the topic's key is `{C}`",
    note = "two arguments are `(ctx: &mut Context<'_>, value)` or `(key, value)`",
    note = "a topic of `String` gives `&str` (or `String`), of `i64` it gives `i64`, of `Order` it gives `Order` (or `Order<'_>`), of `Json<T>` it gives `T`; and `Option` of any, which is `None` for null"
)]
pub trait First<'c, 'x, 'r, M, C: Codec>: Sized {
    /// Takes the context or reads the key.
    fn first<V>(topic: &Topic<C, V>, ctx: &'c mut Context<'x>, record: &Record<'r>) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<'c, 'x, 'r, C: Codec> First<'c, 'x, 'r, IsContext, C> for &'c mut Context<'x> {
    #[inline]
    fn first<V>(_: &Topic<C, V>, ctx: &'c mut Context<'x>, _: &Record<'r>) -> Result<Self> {
        Ok(ctx)
    }
}

impl<'c, 'x, 'r, C: Codec, T: Argument<'r, M, C>, M> First<'c, 'x, 'r, IsOther<M>, C> for T {
    #[inline]
    fn first<V>(topic: &Topic<C, V>, _: &'c mut Context<'x>, record: &Record<'r>) -> Result<Self> {
        T::key(topic, record)
    }
}

/// The first of three arguments of a message handler.
///
/// Implemented by kproc alone: see [the module](self).
#[diagnostic::on_unimplemented(
    message = "the first of three arguments is `&mut Context<'_>`, not `{Self}`",
    label = "write `ctx: &mut Context<'_>` here",
    note = "an `#[on_message]` method takes `(value)`, `(key, value)`, `(ctx, value)` or `(ctx, key, value)`; the record's time and place are in the context: `ctx.timestamp()`, `ctx.partition()`, `ctx.offset()`"
)]
pub trait ContextArgument<'c, 'x>: Sized {
    /// Takes the context.
    fn context(ctx: &'c mut Context<'x>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'c, 'x> ContextArgument<'c, 'x> for &'c mut Context<'x> {
    #[inline]
    fn context(ctx: &'c mut Context<'x>) -> Self {
        ctx
    }
}

/// A number that was not declared: the caller's mistake, not the record's.
#[doc(hidden)]
#[cold]
pub fn undeclared(what: &'static str, number: impl std::fmt::Debug) -> Result<()> {
    Err(Error::msg(format_args!(
        "{what} {number:?} was not declared by this processor"
    )))
}

#[cfg(test)]
mod tests;
