//! The task, as seen by a handler.

use std::{fmt, time::Duration};

use kproc_store::codec::Codec;

use crate::{
    Record, Topic,
    message::{self, Message, SendError},
    outbox::Outbox,
    payload::{KeyPayload, Payload},
    record::{Headers, Offset, Partition, Timestamp},
    timer::{ScheduleError, TimerClock, TimerId, Timers},
};

/// The task, as seen by a handler. `'r` is the life of the record: what the context lends of the record can be
/// kept over a [`send`](Context::send).
///
/// What a handler does through the context counts once the handler has returned without an error. If it fails,
/// nothing is sent, no timer made or cancelled, no commit requested. (Plain fields of the processor are not rolled
/// back.)
pub struct Context<'r> {
    work: &'r mut Workbench,
    place: Option<Place<'r>>,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("task", &self.task())
            .field("topic", &self.topic())
            .field("offset", &self.offset())
            .field("stream_time", &self.stream_time())
            .finish_non_exhaustive()
    }
}

/// Where the present record is from.
#[derive(Clone, Copy)]
pub(crate) struct Place<'r> {
    pub(crate) record: &'r Record<'r>,
    /// Name in the program.
    pub(crate) topic: &'r str,
}

/// A task's name: which group of processors, which partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// The number of the group: processors that share inputs.
    pub group: usize,
    /// The partition of each of its inputs.
    pub partition: Partition,
}

/// As in log lines: `0_3`.
impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.group, self.partition)
    }
}

/// What the handlers of a task work on, one after the other.
pub(crate) struct Workbench {
    pub(crate) task: TaskId,
    pub(crate) outbox: Outbox,
    pub(crate) timers: Timers,
    pub(crate) stream_time: Option<Timestamp>,
    pub(crate) wall_time: Timestamp,
    pub(crate) commit_requested: bool,
    pub(crate) units: Vec<UnitTraits>,
    /// The unit whose turn it is.
    pub(crate) unit: usize,
    /// The timestamp of what is sent.
    pub(crate) timestamp: Option<Timestamp>,
}

/// What is known of a processor in the task.
pub(crate) struct UnitTraits {
    pub(crate) name: String,
    /// Whether it handles scheduled timers.
    pub(crate) scheduled: bool,
    /// Whether it wants to hear of advances of stream time.
    pub(crate) hears_stream_time: bool,
}

impl Workbench {
    /// Begins the timers whose clocks show a time.
    pub(crate) fn begin_timers(&mut self) {
        self.timers.begin(TimerClock::Wall, self.wall_time);
        if let Some(now) = self.stream_time {
            self.timers.begin(TimerClock::Stream, now);
        }
    }

    /// What a timer of this clock is told. (Those of stream time fire only once there is one.)
    pub(crate) fn time(&self, clock: TimerClock) -> Timestamp {
        match clock {
            TimerClock::Wall => self.wall_time,
            TimerClock::Stream => self.stream_time.unwrap_or(self.wall_time),
        }
    }
}

impl<'r> Context<'r> {
    pub(crate) fn new(work: &'r mut Workbench, place: Option<Place<'r>>) -> Self {
        Self { work, place }
    }

    /// Sends a record. Its timestamp is the present record's, or in a timer the time of the timer's clock; its
    /// partition follows from its key. Null is [`Null`](crate::Null), for a bare `None` has no type. See
    /// [`message`](Self::message) for the rest.
    ///
    /// ```
    /// # use kproc::{Context, Null, Result, Topic};
    /// const TOTALS: Topic<String, i64> = Topic::new("totals");
    ///
    /// fn publish(ctx: &mut Context<'_>, word: &str, total: i64) -> Result<()> {
    ///     ctx.send(&TOTALS, word, &total)?;
    ///     ctx.send(&TOTALS, "gone", Null)?; // a tombstone
    ///     Ok(())
    /// }
    /// ```
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a payload is itself a reference")]
    pub fn send<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
    ) -> Result<(), SendError> {
        message::send(&mut self.work.outbox, topic, &key, &value, self.work.timestamp)
    }

    /// A record with headers, or with a partition or timestamp of its own.
    ///
    /// ```
    /// # use kproc::{Context, Partition, Result, Topic};
    /// const TOTALS: Topic<String, i64> = Topic::new("totals");
    ///
    /// fn publish(ctx: &mut Context<'_>, word: &str, total: i64) -> Result<()> {
    ///     let headers = ctx.headers();
    ///     ctx.message(&TOTALS, word, &total)
    ///         .headers(headers)
    ///         .header("source", "flights")
    ///         .partition(Partition::new(0))
    ///         .send()?;
    ///     Ok(())
    /// }
    /// ```
    #[inline]
    pub fn message<K: Codec, V: Codec>(
        &mut self,
        topic: &Topic<K, V>,
        key: impl KeyPayload<K>,
        value: impl Payload<V>,
    ) -> Message<'_> {
        Message::new(&mut self.work.outbox, topic, key, value, self.work.timestamp)
    }

    /// Makes a timer that fires every `period` (whole milliseconds), first after one period: the processor's
    /// [`#[on_schedule]`](macro@crate::on_schedule) method is called. (Without macros: its
    /// [`punctuate`](crate::Processor::punctuate), with [`Timer::Scheduled`](crate::Timer::Scheduled).) For a timer
    /// that fires once, [`cancel`](Self::cancel) it there.
    ///
    /// Such timers live as long as the task does: a restart, a move or a fall-back forgets them, except that
    /// those made in `#[on_start]` are made again there. [`#[on_schedule]`](macro@crate::on_schedule) shows how to
    /// make them again from a table.
    pub fn schedule(&mut self, period: Duration, clock: TimerClock) -> Result<TimerId, ScheduleError> {
        let work = &mut *self.work;
        let unit = &work.units[work.unit];
        if !unit.scheduled {
            return Err(ScheduleError::NotHandled {
                processor: unit.name.clone(),
            });
        }
        let now = match clock {
            TimerClock::Wall => Some(work.wall_time),
            TimerClock::Stream => work.stream_time,
        };
        Ok(work.timers.schedule(work.unit, period, clock, now)?)
    }

    /// Cancels a timer made by [`schedule`](Self::schedule): it does not fire again, not even if it is due
    /// already. Works anywhere, in its own callback too, and may be done twice.
    pub fn cancel(&mut self, timer: TimerId) {
        self.work.timers.cancel(self.work.unit, timer);
    }

    /// Asks for a commit: it follows soon after this record, not at once.
    pub fn commit(&mut self) {
        self.work.commit_requested = true;
    }

    /// The task.
    pub fn task(&self) -> TaskId {
        self.work.task
    }

    /// The topic of the present record, by its name in the program; `None` outside a record.
    pub fn topic(&self) -> Option<&'r str> {
        self.place.map(|place| place.topic)
    }

    /// The partition of the present record; `None` outside a record. See [`task`](Self::task) for the task's.
    pub fn partition(&self) -> Option<Partition> {
        self.place.map(|place| place.record.partition)
    }

    /// The offset of the present record; `None` outside a record.
    pub fn offset(&self) -> Option<Offset> {
        self.place.map(|place| place.record.offset)
    }

    /// The timestamp of the present record; `None` if it has none, and outside a record.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.place.and_then(|place| place.record.timestamp)
    }

    /// The headers of the present record; none outside a record.
    pub fn headers(&self) -> Headers<'r> {
        self.place.map(|place| place.record.headers).unwrap_or_default()
    }

    /// The highest timestamp that the task has seen, the present record's included; `None` before the first. It
    /// is kept over restarts.
    pub fn stream_time(&self) -> Option<Timestamp> {
        self.work.stream_time
    }

    /// The wall time, as of a moment ago: it is read once for several records.
    pub fn wall_time(&self) -> Timestamp {
        self.work.wall_time
    }
}
