//! Arguments of methods that no record calls: those of timers, and those that frame a task's life.

use kproc_store::Timestamp;

use super::{IsContext, IsOther};
use crate::{Context, timer::TimerId};

/// The argument of a method that frames a task's life.
///
/// Implemented by kproc alone: see [the module](super).
#[diagnostic::on_unimplemented(
    message = "`#[on_start]` and `#[on_stop]` methods take `ctx: &mut Context<'_>` or nothing, not `{Self}`",
    label = "not the context",
    note = "times are in the context: `ctx.wall_time()`, `ctx.stream_time()`"
)]
pub trait FrameArgument<'c, 'x>: Sized {
    /// Takes the context.
    fn context(ctx: &'c mut Context<'x>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'c, 'x> FrameArgument<'c, 'x> for &'c mut Context<'x> {
    #[inline]
    fn context(ctx: &'c mut Context<'x>) -> Self {
        ctx
    }
}

/// An argument that comes from the firing of an `#[every]` timer.
///
/// Implemented by kproc alone: see [the module](super).
#[diagnostic::on_unimplemented(
    message = "an `#[every]` method is not given a `{Self}`",
    label = "not an argument of `#[every]`",
    note = "it takes `ctx: &mut Context<'_>` and `now: Timestamp`, both optional, in this order",
    note = "a `TimerId` comes with timers made by `ctx.schedule(…)`, to the method marked `#[on_schedule]`"
)]
pub trait EveryArgument: Sized {
    /// Takes it out of the firing.
    fn argument(now: Timestamp) -> Self;
}

#[diagnostic::do_not_recommend]
impl EveryArgument for Timestamp {
    #[inline]
    fn argument(now: Timestamp) -> Self {
        now
    }
}

/// The first argument of an `#[every]` method: the context, or what comes from the firing.
///
/// Implemented by kproc alone: see [the module](super).
#[diagnostic::on_unimplemented(
    message = "an `#[every]` method is not given a `{Self}`",
    label = "not an argument of `#[every]`",
    note = "it takes `ctx: &mut Context<'_>` and `now: Timestamp`, both optional, in this order",
    note = "a `TimerId` comes with timers made by `ctx.schedule(…)`, to the method marked `#[on_schedule]`"
)]
pub trait FirstOfEvery<'c, 'x, M>: Sized {
    /// Takes the context, or what comes from the firing.
    fn first(ctx: &'c mut Context<'x>, now: Timestamp) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'c, 'x> FirstOfEvery<'c, 'x, IsContext> for &'c mut Context<'x> {
    #[inline]
    fn first(ctx: &'c mut Context<'x>, _: Timestamp) -> Self {
        ctx
    }
}

#[diagnostic::do_not_recommend]
impl<'c, 'x, T: EveryArgument> FirstOfEvery<'c, 'x, IsOther<()>> for T {
    #[inline]
    fn first(_: &'c mut Context<'x>, now: Timestamp) -> Self {
        T::argument(now)
    }
}

/// An argument that comes from the firing of a timer that `ctx.schedule` made.
///
/// Implemented by kproc alone: see [the module](super).
#[diagnostic::on_unimplemented(
    message = "an `#[on_schedule]` method is not given a `{Self}`",
    label = "not an argument of `#[on_schedule]`",
    note = "it takes `ctx: &mut Context<'_>`, `timer: TimerId` and `now: Timestamp`, all optional, in this order"
)]
pub trait ScheduledArgument: Sized {
    /// Takes it out of the firing.
    fn argument(timer: TimerId, now: Timestamp) -> Self;
}

#[diagnostic::do_not_recommend]
impl ScheduledArgument for TimerId {
    #[inline]
    fn argument(timer: TimerId, _: Timestamp) -> Self {
        timer
    }
}

#[diagnostic::do_not_recommend]
impl ScheduledArgument for Timestamp {
    #[inline]
    fn argument(_: TimerId, now: Timestamp) -> Self {
        now
    }
}

/// The first of three arguments of an `#[on_schedule]` method.
///
/// Implemented by kproc alone: see [the module](super).
#[diagnostic::on_unimplemented(
    message = "the first of three arguments is `&mut Context<'_>`, not `{Self}`",
    label = "write `ctx: &mut Context<'_>` here",
    note = "an `#[on_schedule]` method takes `ctx: &mut Context<'_>`, `timer: TimerId` and `now: Timestamp`, all optional, in this order"
)]
pub trait ContextOfScheduled<'c, 'x>: Sized {
    /// Takes the context.
    fn context(ctx: &'c mut Context<'x>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'c, 'x> ContextOfScheduled<'c, 'x> for &'c mut Context<'x> {
    #[inline]
    fn context(ctx: &'c mut Context<'x>) -> Self {
        ctx
    }
}

/// The first argument of an `#[on_schedule]` method: the context, or what comes from the firing.
///
/// Implemented by kproc alone: see [the module](super).
#[diagnostic::on_unimplemented(
    message = "an `#[on_schedule]` method is not given a `{Self}`",
    label = "not an argument of `#[on_schedule]`",
    note = "it takes `ctx: &mut Context<'_>`, `timer: TimerId` and `now: Timestamp`, all optional, in this order"
)]
pub trait FirstOfScheduled<'c, 'x, M>: Sized {
    /// Takes the context, or what comes from the firing.
    fn first(ctx: &'c mut Context<'x>, timer: TimerId, now: Timestamp) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'c, 'x> FirstOfScheduled<'c, 'x, IsContext> for &'c mut Context<'x> {
    #[inline]
    fn first(ctx: &'c mut Context<'x>, _: TimerId, _: Timestamp) -> Self {
        ctx
    }
}

#[diagnostic::do_not_recommend]
impl<'c, 'x, T: ScheduledArgument> FirstOfScheduled<'c, 'x, IsOther<()>> for T {
    #[inline]
    fn first(_: &'c mut Context<'x>, timer: TimerId, now: Timestamp) -> Self {
        T::argument(timer, now)
    }
}
