//! A stretch of work: the units sit at the desk, and take turns record by record, until something ends it.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use kproc_store::Marks;

use super::{
    Counters, Fired, Pause, Rest,
    desk::{Desk, Papers, Turn},
    failure::{Carry, Phase, report_passed_over},
    inputs::{Inputs, Reader},
    progress::Progress,
    settings::TaskSettings,
    unit::AnyUnit,
};
use crate::{
    clock::BoxFuture,
    context::{UnitTraits, Workbench},
    error::{Error, ErrorKind},
    outbox::Mark,
    policy::MissingTimestamp,
    record::{Partition, Timestamp, TopicPartition},
    timer::{Firing, TimerClock},
};

/// What is to be done before, or instead of, the record that merging would choose.
#[derive(Default)]
pub(super) struct Plan {
    /// Timers to be fired whether due or not.
    pub(super) firings: VecDeque<Firing>,
    /// The units that want to hear of the last advance of stream time, and have not yet.
    pub(super) unheard: VecDeque<usize>,
    /// The input whose record is tried again.
    pub(super) input: Option<usize>,
}

impl Plan {
    /// Adds what was to be tried again when the task was dropped, and would not come again by itself. (What follows from an
    /// advance of stream time does: see `owed`.)
    pub(super) fn again(&mut self, carry: &Carry) {
        for retrying in &carry.retrying {
            if let Phase::Timer(firing) = retrying.phase
                && firing.clock == TimerClock::Wall
            {
                self.firings.push_back(firing);
            }
        }
    }

    /// What failed is still to be done.
    pub(super) fn put_back(&mut self, unit: usize, what: What) {
        match what {
            What::Record(input) => self.input = Some(input),
            What::Timer(firing) => self.firings.push_front(firing),
            What::StreamTime => self.unheard.push_front(unit),
            What::Start | What::Stop | What::NoTimestamp(_) => {}
        }
    }

    /// Stream time has advanced: whoever wants to hear of it has not yet.
    pub(super) fn advances(&mut self, units: &[UnitTraits]) {
        self.unheard.clear();
        self.unheard
            .extend((0..units.len()).filter(|unit| units[*unit].hears_stream_time));
    }
}

/// What a stretch works with, lent by its task.
pub(super) struct Tools<'s> {
    pub(super) marks: &'s Marks,
    pub(super) plan: &'s mut Plan,
    pub(super) carry: &'s mut Carry,
    pub(super) counters: &'s mut Counters,
    pub(super) progress: &'s Progress,
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
    /// The unit whose turn it is.
    unit: usize,
    /// How many readers of the present record have not had it yet.
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
                let offset = input.offset();
                offset.map_or(Phase::StreamTime(unit), |offset| Phase::Record(at, offset))
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
        let work = &desk.papers.borrow().work;
        Self {
            before: Before::now(work),
            what: What::Start,
            unit: 0,
            readers: 0,
            advances: false,
            unsettled: false,
            hears: work.units.iter().any(|unit| unit.hears_stream_time),
            desk,
            seats,
            tools,
        }
    }

    /// Lets every unit start, or stop.
    pub(super) async fn all(mut self, turn: Turn, what: What) -> Result<(), Box<Broken>> {
        for unit in 0..self.seats.len() {
            let now = self.desk.papers.borrow().work.wall_time;
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
            loop {
                let given = self.desk.give(&mut self.seats[self.unit], Turn::Record).await;
                self.check(given)?;
                if !self.next_reader() {
                    break;
                }
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
    #[inline]
    fn take_up(&mut self) -> Result<Taken, Box<Broken>> {
        let desk = self.desk;
        let papers = &mut *desk.papers.borrow_mut();
        let chosen = match self.tools.plan.input {
            Some(input) => papers.inputs.choose_this(input),
            None => papers.inputs.choose(self.tools.now),
        };
        let Some((input, head)) = chosen else {
            return Ok(Taken::Nothing);
        };
        let [reader, others @ ..] = &papers.inputs.get(input).readers[..] else {
            return Ok(Taken::Nothing);
        };
        self.readers = others.len();
        (papers.input, papers.number) = (input, reader.number);
        self.tools
            .progress
            .record(input, papers.inputs.get(input).offset());
        let work = &mut *papers.work;
        self.begin(reader.unit, What::Record(input), work);
        work.timestamp = head.timestamp;
        self.advances = head.order > work.stream_time;
        if self.advances {
            work.stream_time = head.order;
        } else if head.order != work.stream_time {
            self.tools.counters.count_out_of_place(&head);
        }
        let is_odd = head.timestamp.is_none() || !self.tools.carry.skipped.is_empty();
        if is_odd {
            return self.take_up_odd(papers);
        }
        Ok(Taken::Record)
    }

    /// Hands the present record on to its next reader, if there is one more.
    #[inline]
    fn next_reader(&mut self) -> bool {
        let Some(left) = self.readers.checked_sub(1) else {
            return false;
        };
        self.readers = left;
        let papers = &mut *self.desk.papers.borrow_mut();
        let readers = &papers.inputs.get(papers.input).readers;
        let Reader { unit, number } = readers[readers.len() - 1 - left];
        (self.unit, papers.work.unit, papers.number) = (unit, unit, number);
        true
    }

    /// A record that may have to be passed over, or that has no timestamp.
    #[cold]
    fn take_up_odd(&mut self, papers: &mut Papers<'_>) -> Result<Taken, Box<Broken>> {
        let input = papers.inputs.get(papers.input);
        let place = input.offset().map(|offset| (input.topic.clone(), offset));
        if place.is_some_and(|place| self.tools.carry.skipped.contains(&place)) {
            self.pass_over(papers);
            return Ok(Taken::PassedOver);
        }
        let work = &mut *papers.work;
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
                self.pass_over(papers);
                Ok(Taken::PassedOver)
            }
            MissingTimestamp::Fail => {
                let error = Error::new(
                    ErrorKind::Deserialization,
                    "the record has no timestamp; to pass over such records, or to give them one, \
                     set `missing_timestamp` to `skip`, `stream_time` or `wall_clock`",
                );
                self.what = What::NoTimestamp(papers.input);
                Err(self.broken(Some(error)))
            }
        }
    }

    /// The record is done. Says whether the stretch is to end.
    #[inline]
    fn put_down(&mut self, room: usize) -> Option<End> {
        if !self.tools.carry.retrying.is_empty() {
            self.has_worked();
        }
        self.tools.plan.input = None;
        *self.tools.touched = true;
        self.tools.counters.records += 1;
        let papers = &mut *self.desk.papers.borrow_mut();
        papers.inputs.done(papers.input);
        let work = &*papers.work;
        if self.advances {
            if self.hears {
                self.tools.plan.advances(&work.units);
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
        while let Some(unit) = self.tools.plan.unheard.pop_front() {
            *self.tools.touched = true;
            let now = self.desk.papers.borrow().work.stream_time;
            self.other(unit, Turn::StreamTime, What::StreamTime, now).await?;
        }
        while let Some(firing) = self.tools.plan.firings.pop_front() {
            // That it is not owed any more is to be committed.
            *self.tools.touched |= firing.clock == TimerClock::Stream;
            if self.take_up_firing(firing) {
                self.fire(firing).await?;
            }
        }
        while let Some(firing) = self.next_due() {
            self.fire(firing).await?;
        }
        Ok(())
    }

    /// Whether a timer that is to fire still exists. If it was due again meanwhile, it is not any more: were it to
    /// fire once for each of its periods, one that takes long to fail would leave no time for records.
    fn take_up_firing(&self, firing: Firing) -> bool {
        let work = &mut *self.desk.papers.borrow_mut().work;
        let now = work.time(firing.clock);
        work.timers.take_up(firing, now)
    }

    /// A timer that is due by its own clock.
    fn next_due(&self) -> Option<Firing> {
        let work = &mut *self.desk.papers.borrow_mut().work;
        let (stream_time, wall_time) = (work.stream_time, work.wall_time);
        let by_stream = stream_time.and_then(|now| work.timers.next_due(TimerClock::Stream, now));
        by_stream.or_else(|| work.timers.next_due(TimerClock::Wall, wall_time))
    }

    async fn fire(&mut self, firing: Firing) -> Result<(), Box<Broken>> {
        let now = {
            let mut papers = self.desk.papers.borrow_mut();
            let now = papers.work.time(firing.clock);
            papers.firing = Some((firing.timer, now));
            now
        };
        self.other(firing.unit, Turn::Timer, What::Timer(firing), Some(now))
            .await?;
        if let Some(log) = &self.tools.settings.fired {
            let work = &self.desk.papers.borrow().work;
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
        {
            self.tools.progress.turn();
            let work = &mut *self.desk.papers.borrow_mut().work;
            self.begin(unit, what, work);
            work.timestamp = timestamp;
        }
        let given = self.desk.give(&mut self.seats[unit], turn).await;
        self.check(given)?;
        if !self.tools.carry.retrying.is_empty() {
            self.has_worked();
        }
        let work = &self.desk.papers.borrow().work;
        *self.tools.touched |= work.outbox.len() != self.before.outbox.rows || work.commit_requested;
        Ok(())
    }

    /// It is this unit's turn. What happens from here on can be undone.
    #[inline]
    fn begin(&mut self, unit: usize, what: What, work: &mut Workbench) {
        self.tools.marks.begin();
        work.timers.mark();
        self.before = Before::now(work);
        self.what = what;
        (self.unit, work.unit) = (unit, unit);
    }

    /// Whether the turn has worked.
    #[inline]
    fn check(&self, given: Result<(), Error>) -> Result<(), Box<Broken>> {
        match given {
            Ok(()) if !self.tools.marks.failed() => Ok(()),
            given => Err(self.broken(given.err())),
        }
    }

    #[cold]
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "a result that is one pointer wide costs a record less"
    )]
    fn broken(&self, error: Option<Error>) -> Box<Broken> {
        let Self {
            unit, what, before, ..
        } = *self;
        Box::new(Broken {
            unit,
            what,
            error,
            before,
        })
    }

    /// If this was tried again, it has worked.
    #[cold]
    fn has_worked(&mut self) {
        let Papers { inputs, work, .. } = &*self.desk.papers.borrow();
        let phase = self.what.phase(self.unit, inputs, work.task.partition);
        self.tools.carry.worked(&phase);
    }

    #[cold]
    fn pass_over(&mut self, papers: &mut Papers<'_>) {
        self.before.restore(papers.work);
        report_passed_over(papers.inputs.get(papers.input), papers.work.task.partition);
        papers.inputs.done(papers.input);
        *self.tools.touched = true;
        self.tools.counters.skipped += 1;
    }
}
