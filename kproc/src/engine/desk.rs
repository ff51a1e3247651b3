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
    task::Poll,
};

use super::inputs::Inputs;
use crate::{
    clock::BoxFuture,
    context::Workbench,
    error::{Error, ErrorKind, Result, panic_message},
    record::Timestamp,
    timer::Timer,
};

/// What a unit is to do. The rest of what it needs to know is in the [`Papers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The record at the head of [`Papers::input`].
    Record,
    /// [`Papers::firing`] fires.
    Timer,
    /// Stream time has advanced.
    StreamTime,
    Start,
    Stop,
}

/// What lies on the desk: all of it is the unit's whose turn it is, or else the stretch's.
pub(super) struct Papers<'t> {
    pub(super) inputs: &'t mut Inputs,
    pub(super) work: &'t mut Workbench,
    /// Where the present record is from.
    pub(super) input: usize,
    /// The number by which the processor whose turn it is knows that input.
    pub(super) number: usize,
    /// The timer that fires, and the time of its clock.
    pub(super) firing: Option<(Timer, Timestamp)>,
}

/// Where the units of a task take turns.
pub(crate) struct Desk<'t> {
    pub(super) papers: RefCell<Papers<'t>>,
    /// The present turn, until it is finished.
    turn: Cell<Option<Turn>>,
    /// What the turn that has finished failed with.
    error: Cell<Option<Error>>,
    /// Whether a handler has waited since this was last looked at.
    waited: Cell<bool>,
}

impl<'t> Desk<'t> {
    pub(super) fn new(inputs: &'t mut Inputs, work: &'t mut Workbench) -> Self {
        Self {
            papers: RefCell::new(Papers {
                inputs,
                work,
                input: 0,
                number: 0,
                firing: None,
            }),
            turn: Cell::new(None),
            error: Cell::new(None),
            waited: Cell::new(false),
        }
    }

    /// A unit waits for its turn. Nobody is to be woken: whoever gives a turn polls.
    #[inline]
    pub(super) fn next_turn(&self) -> impl Future<Output = Turn> {
        poll_fn(|_| self.turn.get().map_or(Poll::Pending, Poll::Ready))
    }

    /// A unit has finished its turn.
    #[inline]
    pub(super) fn finish(&self, result: Result<()>) {
        self.turn.set(None);
        if let Err(error) = result {
            self.error.set(Some(error));
        }
    }

    /// Whether a handler has waited since the last call.
    #[inline]
    pub(super) fn has_waited(&self) -> bool {
        self.waited.replace(false)
    }

    /// Gives a unit a turn, and waits until it has finished. A panic comes back as an error of that kind; the
    /// unit cannot be given another turn then.
    #[inline]
    pub(super) fn give(
        &self,
        unit: &mut BoxFuture<'_, Infallible>,
        turn: Turn,
    ) -> impl Future<Output = Result<()>> {
        self.turn.set(Some(turn));
        poll_fn(
            |cx| match catch_unwind(AssertUnwindSafe(|| unit.as_mut().poll(cx))) {
                Ok(Poll::Ready(never)) => match never {},
                Ok(Poll::Pending) if self.turn.get().is_none() => {
                    Poll::Ready(self.error.take().map_or(Ok(()), Err))
                }
                Ok(Poll::Pending) => {
                    self.waited.set(true);
                    Poll::Pending
                }
                Err(payload) => Poll::Ready(Err(panicked(&*payload))),
            },
        )
    }
}

#[cold]
fn panicked(payload: &(dyn Any + Send)) -> Error {
    Error::new(ErrorKind::Panic, format!("panicked: {}", panic_message(payload)))
}
