//! Punctuation: what fires, by which clock, and when it is due next.
//!
//! The rules: a timer first fires one period after it began, or (declared, stream time) at the next whole
//! multiple of its period since 1970, which does not depend on which record happened to come first. Due times
//! stay on that grid whatever a handler takes. Whoever looks late finds a timer due once, not once for each
//! period that went by. A wall clock that was set back does not stall a timer: its due time moves back by whole
//! periods.

use std::time::Duration;

use crate::record::Timestamp;

/// What a timer goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerClock {
    /// The wall clock.
    Wall,
    /// Stream time: the highest timestamp that the task has seen. It stands still while no records come.
    Stream,
}

/// A timer made by [`Context::schedule`](crate::Context::schedule).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub(crate) u64);

/// Which timer fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// One that was declared, by its number.
    Every(usize),
    /// One that was made by [`Context::schedule`](crate::Context::schedule).
    Scheduled(TimerId),
}

/// A timer that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The processor has no handler for it.
    #[error(
        "processor `{processor}` cannot schedule timers, for it does not say what to do when one fires: \
         give it a method with `#[on_schedule]` (by hand: call `handles_scheduled` in `declare`)"
    )]
    NotHandled {
        /// The processor.
        processor: String,
    },
    /// The period is not one.
    #[error(transparent)]
    Period(#[from] PeriodError),
}

/// A period that no timer can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a timer cannot fire every {period:?}: a period is a whole number of milliseconds, 1 at least")]
pub struct PeriodError {
    period: Duration,
}

/// The period in milliseconds.
pub(crate) fn period_millis(period: Duration) -> Result<i64, PeriodError> {
    let whole = period.subsec_nanos().is_multiple_of(1_000_000);
    match i64::try_from(period.as_millis()) {
        Ok(millis @ 1..) if whole => Ok(millis),
        _ => Err(PeriodError { period }),
    }
}

/// The timers of a task.
#[derive(Default)]
pub(crate) struct Timers {
    list: Vec<Entry>,
    /// The list as it was when the current record began, if it has changed since.
    before: Option<Vec<Entry>>,
    made: u64,
    /// The earliest due times; `i64::MAX` if there is none, `i64::MIN` if a timer has not begun.
    wall: i64,
    stream: i64,
}

#[derive(Debug, Clone)]
struct Entry {
    firing: Firing,
    period: i64,
    due: Due,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// Its clock does not show anything yet.
    NotBegun,
    At(i64),
    /// Beyond the end of time.
    Never,
}

/// A timer that fires, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Firing {
    pub(crate) unit: usize,
    pub(crate) timer: Timer,
    pub(crate) clock: TimerClock,
}

impl Timers {
    /// Adds a declared timer. It begins when its clock is first shown to [`Timers::next_due`].
    pub(crate) fn declare(&mut self, unit: usize, number: usize, period: i64, clock: TimerClock) {
        let timer = Timer::Every(number);
        let firing = Firing { unit, timer, clock };
        self.add(firing, period, Due::NotBegun);
    }

    /// Adds a timer that begins now, or when its clock first shows a time.
    pub(crate) fn schedule(
        &mut self,
        unit: usize,
        period: Duration,
        clock: TimerClock,
        now: Option<Timestamp>,
    ) -> Result<TimerId, PeriodError> {
        let period = period_millis(period)?;
        self.remember();
        self.made += 1;
        let id = TimerId(self.made);
        let timer = Timer::Scheduled(id);
        let due = now.map_or(Due::NotBegun, |now| Due::after(now.as_millis(), period));
        self.add(Firing { unit, timer, clock }, period, due);
        Ok(id)
    }

    /// Removes a timer, also within its own callback; it does not matter whether it still exists.
    pub(crate) fn cancel(&mut self, unit: usize, id: TimerId) {
        let mine = |entry: &Entry| entry.firing.unit == unit && entry.firing.timer == Timer::Scheduled(id);
        if self.list.iter().any(mine) {
            self.remember();
            self.list.retain(|entry| !mine(entry));
            self.look();
        }
    }

    /// Begins the timers that have not begun: their clock shows its first time.
    pub(crate) fn begin(&mut self, clock: TimerClock, now: Timestamp) {
        for entry in self.list.iter_mut().filter(|entry| entry.firing.clock == clock) {
            if entry.due == Due::NotBegun {
                entry.begin(now.as_millis());
            }
        }
        self.look();
    }

    /// A timer that is due, the longest due first; each at most once for one `now`, for its next due time is
    /// after it.
    #[inline]
    pub(crate) fn next_due(&mut self, clock: TimerClock, now: Timestamp) -> Option<Firing> {
        if self.is_due(clock, now) {
            self.find_due(clock, now.as_millis())
        } else {
            None
        }
    }

    /// Whether there is one.
    #[inline]
    pub(crate) fn is_due(&self, clock: TimerClock, now: Timestamp) -> bool {
        let earliest = match clock {
            TimerClock::Wall => self.wall,
            TimerClock::Stream => self.stream,
        };
        now.as_millis() >= earliest
    }

    /// Those that are due by stream time, in the order in which they would fire.
    pub(crate) fn due_by_stream(&self, now: Timestamp) -> Vec<Firing> {
        let mut due: Vec<(i64, Firing)> = Vec::new();
        if self.is_due(TimerClock::Stream, now) {
            due.extend(self.list.iter().filter_map(|entry| match entry.due {
                Due::At(at) if entry.firing.clock == TimerClock::Stream && at <= now.as_millis() => {
                    Some((at, entry.firing))
                }
                _ => None,
            }));
        }
        due.sort_by_key(|(at, _)| *at);
        due.into_iter().map(|(_, firing)| firing).collect()
    }

    /// The wall time at which the next timer is due.
    pub(crate) fn next_wall(&self) -> Option<Timestamp> {
        (self.wall != i64::MAX).then(|| Timestamp::from_millis(self.wall))
    }

    /// Brings due times that a clock set back has left more than a period ahead back within it.
    pub(crate) fn wall_shows(&mut self, now: Timestamp) {
        let now = now.as_millis();
        let mut moved = false;
        for entry in self
            .list
            .iter_mut()
            .filter(|entry| entry.firing.clock == TimerClock::Wall)
        {
            if let Due::At(due) = entry.due {
                let ahead = due.saturating_sub(now);
                if ahead > entry.period {
                    let periods = (ahead - 1) / entry.period;
                    entry.due = Due::At(due - periods * entry.period);
                    moved = true;
                }
            }
        }
        if moved {
            self.look();
        }
    }

    /// All timers of the wall clock.
    pub(crate) fn all_wall(&self) -> Vec<Firing> {
        let wall = self
            .list
            .iter()
            .filter(|entry| entry.firing.clock == TimerClock::Wall);
        wall.map(|entry| entry.firing).collect()
    }

    /// A timer fires out of turn: if it is due, it is so no longer. Whether it still exists.
    pub(crate) fn take_up(&mut self, firing: Firing, now: Timestamp) -> bool {
        let now = now.as_millis();
        let Some(entry) = self.list.iter_mut().find(|entry| entry.firing == firing) else {
            return false;
        };
        if matches!(entry.due, Due::At(due) if due <= now) {
            entry.due = entry.due.next(now, entry.period);
            self.look();
        }
        true
    }

    /// What is changed from here on can be undone.
    #[inline]
    pub(crate) fn mark(&mut self) {
        if self.before.is_some() {
            self.before = None;
        }
    }

    /// Takes back what was changed since the mark.
    pub(crate) fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.list = before;
            self.look();
        }
    }

    fn remember(&mut self) {
        if self.before.is_none() {
            self.before = Some(self.list.clone());
        }
    }

    fn add(&mut self, firing: Firing, period: i64, due: Due) {
        self.list.push(Entry { firing, period, due });
        self.look();
    }

    #[cold]
    fn find_due(&mut self, clock: TimerClock, now: i64) -> Option<Firing> {
        self.begin(clock, Timestamp::from_millis(now));
        let late = |entry: &&mut Entry| {
            entry.firing.clock == clock && matches!(entry.due, Due::At(due) if due <= now)
        };
        let entry = self
            .list
            .iter_mut()
            .filter(late)
            .min_by_key(|entry| match entry.due {
                Due::At(due) => due,
                Due::NotBegun | Due::Never => i64::MAX,
            });
        let firing = entry.map(|entry| {
            entry.due = entry.due.next(now, entry.period);
            entry.firing
        });
        self.look();
        firing
    }

    /// Looks for the earliest due times.
    fn look(&mut self) {
        let earliest = |clock| {
            let mine = self.list.iter().filter(|entry| entry.firing.clock == clock);
            let due = mine.map(|entry| match entry.due {
                Due::NotBegun => i64::MIN,
                Due::At(due) => due,
                Due::Never => i64::MAX,
            });
            due.min().unwrap_or(i64::MAX)
        };
        (self.wall, self.stream) = (earliest(TimerClock::Wall), earliest(TimerClock::Stream));
    }
}

impl Entry {
    /// Its clock shows a time for the first time.
    fn begin(&mut self, now: i64) {
        self.due = match (self.firing.timer, self.firing.clock) {
            (Timer::Every(_), TimerClock::Stream) => {
                Due::after(now - now.rem_euclid(self.period), self.period)
            }
            _ => Due::after(now, self.period),
        };
    }
}

impl Due {
    /// A period after `time`.
    fn after(time: i64, period: i64) -> Self {
        time.checked_add(period).map_or(Self::Never, Self::At)
    }

    /// The first place of its grid after `now`, which is not before it.
    fn next(self, now: i64, period: i64) -> Self {
        let Self::At(due) = self else { return self };
        Self::after(now - (now - due) % period, period)
    }
}
