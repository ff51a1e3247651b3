//! A stretch of work: the units sit at the desk, and take turns record by record, until something ends it.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use kproc_store::Marks;

use super::{
    Counters, Fired, Pause, Rest,
    desk::{Desk, Turn},
    failure::{Carry, Phase, report_passed_over},
    settings::TaskSettings,
    unit::AnyUnit,
};
use crate::{
    clock::BoxFuture,
    context::Workbench,
    error::{Error, ErrorKind},
    outbox::Mark,
    policy::MissingTimestamp,
    record::Timestamp,
    timer::{Firing, TimerClock},
};

/// What is to be done before, or instead of, the record that merging would choose.
pub(super) struct Plan {
    /// Timers to be fired whether due or not.
    pub(super) firings: VecDeque<Firing>,
    /// The first unit that has not heard of the advance of stream time yet; past the last: all have.
    pub(super) unheard: usize,
    /// The input whose record is tried again.
    pub(super) input: Option<usize>,
}

impl Plan {
    /// Nothing, for a task of so many units.
    pub(super) fn nothing(units: usize) -> Self {
        Self {
            firings: VecDeque::new(),
            unheard: units,
            input: None,
        }
    }
}

/// What a stretch works with, lent by its task.
pub(super) struct Tools<'s> {
    pub(super) marks: &'s Marks,
    pub(super) plan: &'s mut Plan,
    pub(super) carry: &'s mut Carry,
    pub(super) counters: &'s mut Counters,
    pub(super) settings: &'s TaskSettings,
    pub(super) now: Duration,
    /// Set once something has happened that a commit must cover.
    pub(super) touched: &'s mut bool,
}

/// A stretch of work.
pub(super) struct Stretch<'s, 't> {
    desk: &'s Desk<'t>,
    seats: Vec<BoxFuture<'s, Infallible>>,
    tools: Tools<'s>,
}

/// What ended a stretch.
pub(super) enum End {
    /// It was long enough.
    Long,
    /// The task is to rest.
    Pause(Pause),
}

/// A turn that failed, its effects not undone yet.
pub(super) struct Broken {
    pub(super) unit: usize,
    pub(super) what: What,
    /// `None`: a guard of one of the unit's stores failed, and the store knows why.
    pub(super) error: Option<Error>,
    pub(super) before: Before,
}

/// What a unit was doing.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Start,
    /// The record at the head of this input.
    Record(usize),
    /// The same, but it never came to the unit: it has no timestamp.
    NoTimestamp(usize),
    Timer(Firing),
    StreamTime,
    Stop,
}

/// How things were before a turn.
#[derive(Clone, Copy)]
pub(super) struct Before {
    outbox: Mark,
    stream_time: Option<Timestamp>,
    commit_requested: bool,
}

impl Before {
    /// Puts things back. (The stores have marks of their own.)
    pub(super) fn restore(self, work: &mut Workbench) {
        work.outbox.undo(self.outbox);
        work.timers.undo();
        work.stream_time = self.stream_time;
        work.commit_requested = self.commit_requested;
    }
}

impl<'s, 't> Stretch<'s, 't> {
    pub(super) fn new(desk: &'s Desk<'t>, units: &'s mut [Box<dyn AnyUnit>], tools: Tools<'s>) -> Self {
        let seats = units.iter_mut().map(|unit| unit.take_turns(desk)).collect();
        Self { desk, seats, tools }
    }

    /// Lets every unit start, or stop.
    pub(super) async fn all(mut self, turn: Turn, what: What) -> Result<(), Broken> {
        for unit in 0..self.seats.len() {
            let now = self.desk.work.borrow().wall_time;
            self.other(unit, turn, what, Some(now)).await?;
        }
        Ok(())
    }

    /// Works for up to `limit` records, and until the outbox holds more than `room` bytes.
    pub(super) async fn records(mut self, limit: usize, room: usize, rest: &Rest) -> Result<End, Broken> {
        self.settle().await?;
        for _ in 0..limit {
            if rest.asked() {
                return Ok(End::Pause(Pause::Asked));
            }
            let chosen = match self.tools.plan.input {
                Some(input) => Some(input),
                None => self.desk.inputs.borrow_mut().choose(self.tools.now),
            };
            let Some(input) = chosen else {
                return Ok(End::Pause(Pause::Starved));
            };
            let advanced = self.record(input).await?;
            if advanced {
                self.settle().await?;
            }
            let work = self.desk.work.borrow();
            if work.commit_requested {
                return Ok(End::Pause(Pause::Commit));
            }
            if work.outbox.bytes() > room {
                return Ok(End::Pause(Pause::Full));
            }
            if self.desk.has_waited() {
                // Time has passed: the wall clock is to be looked at.
                return Ok(End::Long);
            }
        }
        Ok(End::Long)
    }

    /// Gives the record at the head of an input to all its readers. Says whether it has moved stream time.
    #[inline]
    async fn record(&mut self, input: usize) -> Result<bool, Broken> {
        let Some(head) = self.desk.inputs.borrow().get(input).head() else {
            return Ok(false);
        };
        if !self.tools.carry.skipped.is_empty() && self.is_skipped(input) {
            self.pass_over(input);
            return Ok(false);
        }
        let mut timestamp = head.timestamp;
        if timestamp.is_none() {
            match self.tools.settings.missing_timestamp {
                MissingTimestamp::Fail => return Err(self.no_timestamp(input)),
                MissingTimestamp::Skip => {
                    self.pass_over(input);
                    return Ok(false);
                }
                MissingTimestamp::StreamTime => timestamp = self.desk.work.borrow().stream_time,
                MissingTimestamp::WallClock => timestamp = Some(self.desk.work.borrow().wall_time),
            }
        }
        let before = self.begin(timestamp);
        let advances = head.order > before.stream_time;
        if advances {
            self.desk.work.borrow_mut().stream_time = head.order;
        }
        let mut reader = 0;
        loop {
            let next = self.desk.inputs.borrow().get(input).readers.get(reader).copied();
            let Some(next) = next else { break };
            let number = next.number;
            let turn = Turn::Record {
                input,
                number,
                timestamp,
            };
            self.turn(next.unit, turn, What::Record(input), before).await?;
            reader += 1;
        }
        if self.tools.carry.retrying.is_some() {
            self.has_worked(What::Record(input));
        }
        self.desk.inputs.borrow_mut().done(input);
        self.tools.plan.input = None;
        *self.tools.touched = true;
        self.tools.counters.records += 1;
        if advances {
            self.tools.plan.unheard = 0;
        } else if head.order != before.stream_time {
            self.tools.counters.count_out_of_place(&head);
        }
        Ok(advances)
    }

    /// Tells the units of an advance of stream time, and fires what is due.
    async fn settle(&mut self) -> Result<(), Broken> {
        while let Some(firing) = self.tools.plan.firings.pop_front() {
            if self.desk.work.borrow().timers.exists(firing) {
                self.fire(firing).await?;
            }
        }
        while self.tools.plan.unheard < self.seats.len() {
            let unit = self.tools.plan.unheard;
            self.tools.plan.unheard += 1;
            let now = self.desk.work.borrow().stream_time;
            self.other(unit, Turn::StreamTime, What::StreamTime, now).await?;
        }
        while let Some(firing) = self.next_due() {
            self.fire(firing).await?;
        }
        Ok(())
    }

    /// A timer that is due by its own clock.
    fn next_due(&self) -> Option<Firing> {
        let mut work = self.desk.work.borrow_mut();
        let (stream_time, wall_time) = (work.stream_time, work.wall_time);
        let by_stream = stream_time.and_then(|now| work.timers.next_due(TimerClock::Stream, now));
        by_stream.or_else(|| work.timers.next_due(TimerClock::Wall, wall_time))
    }

    async fn fire(&mut self, firing: Firing) -> Result<(), Broken> {
        let now = self.desk.work.borrow().time(firing.clock);
        self.other(
            firing.unit,
            Turn::Timer(firing.timer, now),
            What::Timer(firing),
            Some(now),
        )
        .await?;
        if let Some(log) = &self.tools.settings.fired {
            let work = self.desk.work.borrow();
            log.add(Fired {
                processor: work.units[firing.unit].0.clone(),
                partition: work.task.partition,
                timer: firing.timer,
                clock: firing.clock,
                now,
            });
        }
        Ok(())
    }

    /// A turn that is no record's.
    async fn other(
        &mut self,
        unit: usize,
        turn: Turn,
        what: What,
        timestamp: Option<Timestamp>,
    ) -> Result<(), Broken> {
        let before = self.begin(timestamp);
        self.turn(unit, turn, what, before).await?;
        if self.tools.carry.retrying.is_some() {
            self.has_worked(what);
        }
        let work = self.desk.work.borrow();
        *self.tools.touched |= work.outbox.len() != before.outbox.rows || work.commit_requested;
        Ok(())
    }

    /// What happens from here on can be undone.
    #[inline]
    fn begin(&mut self, timestamp: Option<Timestamp>) -> Before {
        self.tools.marks.begin();
        let mut work = self.desk.work.borrow_mut();
        work.timers.mark();
        work.timestamp = timestamp;
        Before {
            outbox: work.outbox.mark(),
            stream_time: work.stream_time,
            commit_requested: work.commit_requested,
        }
    }

    #[inline]
    async fn turn(&mut self, unit: usize, turn: Turn, what: What, before: Before) -> Result<(), Broken> {
        self.desk.work.borrow_mut().unit = unit;
        let result = self.desk.give(&mut self.seats[unit], turn).await;
        let error = match result {
            Ok(()) if !self.tools.marks.failed() => return Ok(()),
            Ok(()) => None,
            Err(error) => Some(error),
        };
        Err(Broken {
            unit,
            what,
            error,
            before,
        })
    }

    /// What was tried again has worked.
    #[cold]
    fn has_worked(&mut self, what: What) {
        let Some(retrying) = &self.tools.carry.retrying else {
            return;
        };
        let inputs = self.desk.inputs.borrow();
        let same = match (what, &retrying.phase) {
            (What::Record(input), Phase::Record(at, offset)) => {
                let input = inputs.get(input);
                input.topic == at.topic && input.head().is_some_and(|head| head.offset == *offset)
            }
            (What::Timer(firing), Phase::Timer(timer)) => firing.timer == *timer,
            (What::StreamTime, Phase::StreamTime) => true,
            _ => false,
        };
        if same {
            self.tools.carry.retrying = None;
        }
    }

    #[cold]
    fn is_skipped(&self, input: usize) -> bool {
        let inputs = self.desk.inputs.borrow();
        let input = inputs.get(input);
        input.head().is_some_and(|head| {
            self.tools
                .carry
                .skipped
                .contains(&(input.topic.clone(), head.offset))
        })
    }

    #[cold]
    fn pass_over(&mut self, input: usize) {
        let mut inputs = self.desk.inputs.borrow_mut();
        report_passed_over(inputs.get(input), self.desk.work.borrow().task.partition);
        inputs.done(input);
        *self.tools.touched = true;
        self.tools.counters.skipped += 1;
    }

    #[cold]
    fn no_timestamp(&mut self, input: usize) -> Broken {
        let unit = self
            .desk
            .inputs
            .borrow()
            .get(input)
            .readers
            .first()
            .map_or(0, |reader| reader.unit);
        let error = Error::new(
            ErrorKind::Deserialization,
            "the record has no timestamp; to pass over such records, or to give them one, \
             set `missing_timestamp` to `skip`, `stream_time` or `wall_clock`",
        );
        Broken {
            unit,
            what: What::NoTimestamp(input),
            error: Some(error),
            before: self.begin(None),
        }
    }
}
