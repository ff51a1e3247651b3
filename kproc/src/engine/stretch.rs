//! A stretch of work: the units sit at the desk, and take turns record by record, until something ends it.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use kproc_store::Marks;

use super::{
    Counters, Fired, Pause, Rest,
    desk::{Desk, Turn},
    failure::{Carry, Phase, report_passed_over},
    inputs::{Inputs, Reader},
    settings::TaskSettings,
    unit::AnyUnit,
};
use crate::{
    clock::BoxFuture,
    context::Workbench,
    error::{Error, ErrorKind},
    outbox::Mark,
    policy::MissingTimestamp,
    record::{Partition, Timestamp, TopicPartition},
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

    /// Adds what was to be tried again when the task was dropped, and would not come again by itself.
    pub(super) fn again(&mut self, carry: &Carry) {
        for retrying in &carry.retrying {
            match retrying.phase {
                Phase::Timer(firing) => self.firings.push_back(firing),
                Phase::StreamTime(unit) => self.unheard = self.unheard.min(unit),
                Phase::Start | Phase::Stop | Phase::Record(..) => {}
            }
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
    /// The present turn: what it is, and how things were before.
    what: What,
    before: Before,
    /// The present reader of the present record, and how many it has.
    reader: Reader,
    readers: usize,
    /// Whether the present record has moved stream time.
    advances: bool,
    /// Whether something follows from that.
    unsettled: bool,
    /// Whether any unit wants to hear of it.
    hears: bool,
}

/// What came of looking for the next record.
enum Taken {
    Record,
    PassedOver,
    Nothing,
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

impl What {
    /// The same, for who hears of a failure.
    pub(super) fn phase(self, unit: usize, inputs: &Inputs, partition: Partition) -> Phase {
        match self {
            Self::Start => Phase::Start,
            Self::Stop => Phase::Stop,
            Self::StreamTime => Phase::StreamTime(unit),
            Self::Timer(firing) => Phase::Timer(firing),
            Self::Record(input) | Self::NoTimestamp(input) => {
                let input = inputs.get(input);
                let at = TopicPartition::new(input.topic.clone(), partition);
                let head = input.head();
                head.map_or(Phase::StreamTime(unit), |head| Phase::Record(at, head.offset))
            }
        }
    }
}

/// How things were before a turn.
#[derive(Clone, Copy)]
pub(super) struct Before {
    outbox: Mark,
    stream_time: Option<Timestamp>,
    commit_requested: bool,
}

impl Before {
    #[inline]
    fn now(work: &Workbench) -> Self {
        Self {
            outbox: work.outbox.mark(),
            stream_time: work.stream_time,
            commit_requested: work.commit_requested,
        }
    }

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
        let hears = desk.work.borrow().units.iter().any(|unit| unit.hears_stream_time);
        Self {
            before: Before::now(&desk.work.borrow()),
            what: What::Start,
            reader: Reader { unit: 0, number: 0 },
            readers: 0,
            advances: false,
            unsettled: false,
            hears,
            desk,
            seats,
            tools,
        }
    }

    /// Lets every unit start, or stop.
    pub(super) async fn all(mut self, turn: Turn, what: What) -> Result<(), Box<Broken>> {
        for unit in 0..self.seats.len() {
            let now = self.desk.work.borrow().wall_time;
            self.other(unit, turn, what, Some(now)).await?;
        }
        Ok(())
    }

    /// Works for up to `limit` records, and until the outbox holds more than `room` bytes.
    pub(super) async fn records(
        mut self,
        limit: usize,
        room: usize,
        rest: &Rest,
    ) -> Result<End, Box<Broken>> {
        self.settle().await?;
        for _ in 0..limit {
            if rest.asked() {
                return Ok(End::Pause(Pause::Asked));
            }
            match self.take_up()? {
                Taken::Record => {}
                Taken::PassedOver => continue,
                Taken::Nothing => return Ok(End::Pause(Pause::Starved)),
            }
            self.turn(self.reader.unit, Turn::Record).await?;
            for reader in 1..self.readers {
                self.reader = self.desk.inputs.borrow().get(self.desk.input.get()).readers[reader];
                self.desk.number.set(self.reader.number);
                self.turn(self.reader.unit, Turn::Record).await?;
            }
            let end = self.put_down(room);
            if self.unsettled {
                self.settle().await?;
            }
            if let Some(end) = end {
                return Ok(end);
            }
        }
        Ok(End::Long)
    }

    /// Takes up the next record, for its first reader.
    // It looks at everything at once, and each cell is borrowed once: that is what a record costs most.
    #[inline]
    fn take_up(&mut self) -> Result<Taken, Box<Broken>> {
        let input = {
            let mut inputs = self.desk.inputs.borrow_mut();
            let chosen = self.tools.plan.input.or_else(|| inputs.choose(self.tools.now));
            let Some(input) = chosen else {
                return Ok(Taken::Nothing);
            };
            let chosen = inputs.get(input);
            let (Some(head), Some(&reader)) = (chosen.head(), chosen.readers.first()) else {
                return Ok(Taken::Nothing);
            };
            self.reader = reader;
            self.readers = chosen.readers.len();
            self.what = What::Record(input);
            self.desk.input.set(input);
            self.desk.number.set(reader.number);
            let mut work = self.desk.work.borrow_mut();
            self.tools.marks.begin();
            work.timers.mark();
            self.before = Before::now(&work);
            work.timestamp = head.timestamp;
            if head.order > work.stream_time {
                work.stream_time = head.order;
                self.advances = true;
            } else {
                self.advances = false;
                if head.order != work.stream_time {
                    self.tools.counters.count_out_of_place(head);
                }
            }
            if head.timestamp.is_some() && self.tools.carry.skipped.is_empty() {
                return Ok(Taken::Record);
            }
            input
        };
        self.take_up_odd(input)
    }

    /// A record that may have to be passed over, or that has no timestamp.
    #[cold]
    fn take_up_odd(&mut self, input: usize) -> Result<Taken, Box<Broken>> {
        let desk = self.desk;
        if self.is_skipped(input) {
            self.pass_over(input);
            return Ok(Taken::PassedOver);
        }
        let mut work = desk.work.borrow_mut();
        if work.timestamp.is_some() {
            return Ok(Taken::Record);
        }
        match self.tools.settings.missing_timestamp {
            MissingTimestamp::StreamTime => {
                work.timestamp = work.stream_time;
                Ok(Taken::Record)
            }
            MissingTimestamp::WallClock => {
                work.timestamp = Some(work.wall_time);
                Ok(Taken::Record)
            }
            MissingTimestamp::Skip => {
                drop(work);
                self.pass_over(input);
                Ok(Taken::PassedOver)
            }
            MissingTimestamp::Fail => {
                let error = Error::new(
                    ErrorKind::Deserialization,
                    "the record has no timestamp; to pass over such records, or to give them one, \
                     set `missing_timestamp` to `skip`, `stream_time` or `wall_clock`",
                );
                self.what = What::NoTimestamp(input);
                Err(self.broken(self.reader.unit, Some(error)))
            }
        }
    }

    /// The record is done. Says whether the stretch is to end.
    #[inline]
    fn put_down(&mut self, room: usize) -> Option<End> {
        if !self.tools.carry.retrying.is_empty() {
            self.has_worked(self.reader.unit);
        }
        self.desk.inputs.borrow_mut().done(self.desk.input.get());
        self.tools.plan.input = None;
        *self.tools.touched = true;
        self.tools.counters.records += 1;
        let work = self.desk.work.borrow();
        if self.advances {
            if self.hears {
                self.tools.plan.unheard = 0;
            }
            let now = work.stream_time;
            self.unsettled = self.hears || now.is_some_and(|now| work.timers.is_due(TimerClock::Stream, now));
        }
        if work.commit_requested {
            return Some(End::Pause(Pause::Commit));
        }
        if work.outbox.bytes() > room {
            return Some(End::Pause(Pause::Full));
        }
        // If a handler has waited, time has passed: the wall clock is to be looked at.
        self.desk.has_waited().then_some(End::Long)
    }

    /// Tells the units of an advance of stream time, and fires what is due.
    async fn settle(&mut self) -> Result<(), Box<Broken>> {
        self.unsettled = false;
        while let Some(firing) = self.tools.plan.firings.pop_front() {
            if self.take_up_firing(firing) {
                self.fire(firing).await?;
            }
        }
        while self.tools.plan.unheard < self.seats.len() {
            let unit = self.tools.plan.unheard;
            self.tools.plan.unheard += 1;
            let now = {
                let work = self.desk.work.borrow();
                if !work.units[unit].hears_stream_time {
                    continue;
                }
                work.stream_time
            };
            self.other(unit, Turn::StreamTime, What::StreamTime, now).await?;
        }
        while let Some(firing) = self.next_due() {
            self.fire(firing).await?;
        }
        Ok(())
    }

    /// Whether a timer that is to fire still exists. If it was due again meanwhile, it is not any more: were it to
    /// fire once for each of its periods, one that takes long to fail would leave no time for records.
    fn take_up_firing(&self, firing: Firing) -> bool {
        let mut work = self.desk.work.borrow_mut();
        let now = work.time(firing.clock);
        work.timers.take_up(firing, now)
    }

    /// A timer that is due by its own clock.
    fn next_due(&self) -> Option<Firing> {
        let mut work = self.desk.work.borrow_mut();
        let (stream_time, wall_time) = (work.stream_time, work.wall_time);
        let by_stream = stream_time.and_then(|now| work.timers.next_due(TimerClock::Stream, now));
        by_stream.or_else(|| work.timers.next_due(TimerClock::Wall, wall_time))
    }

    async fn fire(&mut self, firing: Firing) -> Result<(), Box<Broken>> {
        let now = self.desk.work.borrow().time(firing.clock);
        self.desk.firing.set(Some((firing.timer, now)));
        self.other(firing.unit, Turn::Timer, What::Timer(firing), Some(now))
            .await?;
        if let Some(log) = &self.tools.settings.fired {
            let work = self.desk.work.borrow();
            log.add(Fired {
                processor: work.units[firing.unit].name.clone(),
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
    ) -> Result<(), Box<Broken>> {
        self.begin(what);
        self.desk.work.borrow_mut().timestamp = timestamp;
        self.turn(unit, turn).await?;
        if !self.tools.carry.retrying.is_empty() {
            self.has_worked(unit);
        }
        let work = self.desk.work.borrow();
        *self.tools.touched |= work.outbox.len() != self.before.outbox.rows || work.commit_requested;
        Ok(())
    }

    /// What happens from here on can be undone.
    #[inline]
    fn begin(&mut self, what: What) {
        self.what = what;
        self.tools.marks.begin();
        let mut work = self.desk.work.borrow_mut();
        work.timers.mark();
        self.before = Before::now(&work);
    }

    #[inline]
    async fn turn(&mut self, unit: usize, turn: Turn) -> Result<(), Box<Broken>> {
        self.desk.work.borrow_mut().unit = unit;
        match self.desk.give(&mut self.seats[unit], turn).await {
            Ok(()) if !self.tools.marks.failed() => Ok(()),
            Ok(()) => Err(self.broken(unit, None)),
            Err(error) => Err(self.broken(unit, Some(error))),
        }
    }

    #[cold]
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "a result that is one pointer wide costs a record less"
    )]
    fn broken(&self, unit: usize, error: Option<Error>) -> Box<Broken> {
        let Self { what, before, .. } = *self;
        Box::new(Broken {
            unit,
            what,
            error,
            before,
        })
    }

    /// If this was tried again, it has worked.
    #[cold]
    fn has_worked(&mut self, unit: usize) {
        let inputs = self.desk.inputs.borrow();
        let partition = self.desk.work.borrow().task.partition;
        self.tools
            .carry
            .worked(&self.what.phase(unit, &inputs, partition));
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
        self.before.restore(&mut self.desk.work.borrow_mut());
        let mut inputs = self.desk.inputs.borrow_mut();
        report_passed_over(inputs.get(input), self.desk.work.borrow().task.partition);
        inputs.done(input);
        *self.tools.touched = true;
        self.tools.counters.skipped += 1;
    }
}
