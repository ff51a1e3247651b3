//! What should have followed from an advance of stream time, and has not: a turn failed, and is to be tried again, or the
//! application stops for it. The record that has moved stream time is done, so none of this would come again by itself; it
//! is committed with stream time, and whoever goes on from there takes it up first.
//!
//! Things are named as the program names them, for the program may be another one by then: what it does not have any more
//! is not owed any more. Timers made by [`Context::schedule`](crate::Context::schedule) end with their task, and are not
//! among them.

use super::{Task, stream_time};
use crate::{
    mark::Mark,
    timer::{Firing, Timer, TimerClock},
};

impl Task {
    /// Takes stream time, and what is owed, from what was committed with an input's offset. The highest time counts; what
    /// any of them owes is owed. They are committed together, so they differ only where inputs that had tasks of their own now
    /// share one. Texts of unknown form are passed over.
    pub(crate) fn restore_time(&mut self, metadata: &str) {
        let Some(committed) = stream_time::decode(metadata) else {
            return;
        };
        self.work.stream_time = self.work.stream_time.max(Some(committed.now));
        for mark in committed.owed {
            if !self.owed.contains(&mark) {
                self.owed.push(mark);
            }
        }
    }

    /// Plants a mistake.
    pub(crate) fn forget_owed(&mut self) {
        self.owed.clear();
    }

    /// Plans what was owed. The timers have begun.
    pub(super) fn take_up_owed(&mut self) {
        for mark in std::mem::take(&mut self.owed) {
            let timer = self
                .declared_timers()
                .find(|firing| self.timer(*firing) == Some(mark));
            let hears =
                |unit: &usize| self.work.units[*unit].hears_stream_time && self.advance(*unit) == mark;
            let unit = (0..self.units.len()).find(hears);
            self.plan.firings.extend(timer);
            self.plan.unheard.extend(unit);
            // If it is nothing that the program has, it is not owed any more, and that is to be committed.
            self.touched = true;
        }
    }

    /// What is owed now, in order.
    pub(super) fn owed(&self) -> Vec<Mark> {
        let Some(now) = self.work.stream_time else {
            return Vec::new();
        };
        let due = self.work.timers.due_by_stream(now);
        let timers = self.plan.firings.iter().copied().chain(due);
        let unheard = self.plan.unheard.iter();
        unheard
            .map(|unit| self.advance(*unit))
            .chain(timers.filter_map(|firing| self.timer(firing)))
            .collect()
    }

    fn declared_timers(&self) -> impl Iterator<Item = Firing> {
        self.processors.iter().enumerate().flat_map(|(unit, processor)| {
            let timers = self.topology.processors[*processor].timers.iter();
            timers.map(move |timer| Firing {
                unit,
                timer: Timer::Every(timer.number),
                clock: timer.clock,
            })
        })
    }

    /// A declared timer of stream time; `None`: it is another one.
    fn timer(&self, firing: Firing) -> Option<Mark> {
        let Firing {
            unit,
            timer: Timer::Every(number),
            clock: TimerClock::Stream,
        } = firing
        else {
            return None;
        };
        let processor = &self.topology.processors[self.processors[unit]];
        let timer = processor.timers.iter().find(|timer| timer.number == number)?;
        let name = timer.name.map_or_else(|| number.to_string(), str::to_owned);
        Some(Mark::of(&format!("{} timer {name}", processor.name)))
    }

    /// That a unit hears of an advance of stream time.
    fn advance(&self, unit: usize) -> Mark {
        let processor = &self.topology.processors[self.processors[unit]];
        Mark::of(&format!("{} stream time", processor.name))
    }
}
