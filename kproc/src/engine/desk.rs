//! Where the units of a task take turns.
//!
//! A handler may wait, and what it works on is borrowed meanwhile. So each unit runs as one future that lives
//! for a whole stretch of records; the task's loop lays a turn on the desk, polls the unit whose turn it is, and
//! finds its result there. Everything is borrowed at run time, by one unit at a time.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    convert::Infallible,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use super::inputs::Inputs;
use crate::{
    clock::BoxFuture,
    context::Workbench,
    error::{Error, ErrorKind, Result, panic_message},
    record::Timestamp,
    timer::Timer,
};

/// What a unit is to do. The rest of what it needs to know lies on the desk: small things in cells of their own
/// are much cheaper to hand over than one large thing that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing.
    Wait,
    /// The record at the head of [`Desk::input`].
    Record,
    /// [`Desk::firing`] fires.
    Timer,
    /// Stream time has advanced.
    StreamTime,
    Start,
    Stop,
}

/// Where the units of a task take turns.
pub(crate) struct Desk<'t> {
    pub(super) inputs: RefCell<&'t mut Inputs>,
    pub(super) work: RefCell<&'t mut Workbench>,
    /// Where the present record is from.
    pub(super) input: Cell<usize>,
    /// The number by which the processor whose turn it is knows that input.
    pub(super) number: Cell<usize>,
    /// The timer that fires.
    pub(super) firing: Cell<Option<(Timer, Timestamp)>>,
    turn: Cell<Turn>,
    result: Cell<Option<Result<()>>>,
    /// Whether a handler has waited since this was last looked at.
    waited: Cell<bool>,
}

impl<'t> Desk<'t> {
    pub(super) fn new(inputs: &'t mut Inputs, work: &'t mut Workbench) -> Self {
        Self {
            inputs: RefCell::new(inputs),
            work: RefCell::new(work),
            input: Cell::new(0),
            number: Cell::new(0),
            firing: Cell::new(None),
            turn: Cell::new(Turn::Wait),
            result: Cell::new(None),
            waited: Cell::new(false),
        }
    }

    /// A unit waits for its turn.
    #[inline]
    pub(super) fn next_turn(&self) -> NextTurn<'_> {
        NextTurn(&self.turn)
    }

    /// A unit has finished its turn.
    #[inline]
    pub(super) fn finish(&self, result: Result<()>) {
        self.result.set(Some(result));
    }

    /// Whether a handler has waited since the last call.
    #[inline]
    pub(super) fn has_waited(&self) -> bool {
        self.waited.replace(false)
    }

    /// Gives a unit a turn, and waits until it has finished. A panic comes back as an error of that kind; the
    /// unit cannot be given another turn then.
    #[inline]
    pub(super) async fn give(&self, unit: &mut BoxFuture<'_, Infallible>, turn: Turn) -> Result<()> {
        self.turn.set(turn);
        poll_fn(
            |cx| match catch_unwind(AssertUnwindSafe(|| unit.as_mut().poll(cx))) {
                Ok(Poll::Ready(never)) => match never {},
                Ok(Poll::Pending) => {
                    if let Some(result) = self.result.take() {
                        return Poll::Ready(result);
                    }
                    self.waited.set(true);
                    Poll::Pending
                }
                Err(payload) => Poll::Ready(Err(panicked(&*payload))),
            },
        )
        .await
    }
}

/// Resolves once a turn lies on the desk.
pub(super) struct NextTurn<'d>(&'d Cell<Turn>);

impl Future for NextTurn<'_> {
    type Output = Turn;

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Turn> {
        // Nobody is to be woken: whoever lays down a turn polls.
        match self.0.replace(Turn::Wait) {
            Turn::Wait => Poll::Pending,
            turn => Poll::Ready(turn),
        }
    }
}

#[cold]
fn panicked(payload: &(dyn Any + Send)) -> Error {
    Error::new(ErrorKind::Panic, format!("panicked: {}", panic_message(payload)))
}
