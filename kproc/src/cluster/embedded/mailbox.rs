//! A member's events on their way from the cluster to whoever waits for them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use crate::cluster::Event;

/// Events in order, until they are taken.
#[derive(Default)]
pub(super) struct Mailbox(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    events: VecDeque<Event>,
    waker: Option<Waker>,
    closed: bool,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No foreign code runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an event in, and says who is to be woken. A closed mailbox gives the event back.
    pub(super) fn put(&self, event: Event) -> Result<Option<Waker>, Event> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(event);
        }
        inner.events.push_back(event);
        Ok(inner.waker.take())
    }

    /// Takes the next event. Stores the waker first.
    pub(super) fn poll(&self, cx: &mut Context<'_>, open: bool) -> Poll<Event> {
        let (old, event) = {
            let mut inner = self.lock();
            let old = inner.waker.replace(cx.waker().clone());
            let event = if open { inner.events.pop_front() } else { None };
            (old, event)
        };
        drop(old);
        event.map_or(Poll::Pending, Poll::Ready)
    }

    /// Who waits, to be woken though there is no event.
    pub(super) fn waker(&self) -> Option<Waker> {
        self.lock().waker.take()
    }

    /// Nobody will take events any more.
    pub(super) fn close(&self) {
        let left = {
            let mut inner = self.lock();
            inner.closed = true;
            (std::mem::take(&mut inner.events), inner.waker.take())
        };
        drop(left);
    }

    /// Whether nobody takes events any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }
}
