//! What ends a task's activation, and what outlives it.

use std::{borrow::Cow, collections::BTreeSet, fmt, sync::Arc, time::Duration};

use super::inputs::Input;
use crate::{
    error::{Error, ErrorKind},
    processor::TimerSpec,
    record::{Offset, Partition, TopicPartition},
    timer::{Firing, Timer},
};

/// What ended a task's activation.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The processor.
    pub(crate) processor: Cow<'static, str>,
    /// What it was doing.
    pub(crate) phase: Phase,
    /// The declared timer whose handler failed, if it was one.
    pub(crate) timer: Option<Box<TimerSpec>>,
    /// The setting that decides about it; `None`: it stops the application in any case.
    pub(crate) setting: Option<&'static str>,
    /// What went wrong.
    pub(crate) error: Error,
    /// What to do about it.
    pub(crate) next: Next,
}

/// What a processor was doing when it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `#[on_start]`.
    Start,
    /// A record: its topic (name in the program), partition and offset.
    Record(TopicPartition, Offset),
    /// A timer.
    Timer(Firing),
    /// What follows from an advance of stream time, in the unit of this number.
    StreamTime(usize),
    /// `#[on_stop]`.
    Stop,
}

/// What a [`Failure`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Commit what was done before, and stop the application.
    Stop,
    /// Commit what was done before, drop the task, and build it anew with what
    /// [`Task::take_carry`](super::Task::take_carry) gives: the processor is no longer in good order.
    FallBack,
}

impl Failure {
    /// What it came from.
    pub(crate) fn kind(&self) -> ErrorKind {
        self.error.kind()
    }

    /// What it was doing, as people call it.
    pub(super) fn doing(&self) -> &dyn fmt::Display {
        match &self.timer {
            Some(timer) => timer,
            None => &self.phase,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "processor `{}`, {}: {}",
            self.processor,
            self.doing(),
            self.error
        )
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("on start"),
            Self::Record(partition, offset) => write!(f, "record {partition} offset {offset}"),
            Self::Timer(firing) => match firing.timer {
                Timer::Every(number) => write!(f, "timer {number}"),
                Timer::Scheduled(_) => f.write_str("scheduled timer"),
            },
            Self::StreamTime(_) => f.write_str("advance of stream time"),
            Self::Stop => f.write_str("on stop"),
        }
    }
}

/// Says that a record was passed over which no processor has seen this time.
pub(super) fn report_passed_over(input: &Input, partition: Partition) {
    if let Some(offset) = input.offset() {
        let (partition, offset) = (partition.get(), offset.get());
        tracing::warn!(topic = %input.topic, partition, offset, "record passed over");
    }
}

/// What a fall-back must not forget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Carry {
    /// Records to be passed over: topic (name in the program), offset.
    pub(crate) skipped: BTreeSet<(Arc<str>, Offset)>,
    /// What is being tried again: a record, and timers besides.
    pub(crate) retrying: Vec<Retrying>,
}

impl Carry {
    /// This is not tried again, or not for the time that was noted.
    pub(super) fn worked(&mut self, phase: &Phase) {
        self.retrying.retain(|retrying| retrying.phase != *phase);
    }
}

/// Something that failed and is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Retrying {
    /// What.
    pub(crate) phase: Phase,
    /// How many times it was tried again, the time to come included.
    pub(crate) attempt: u32,
    /// Not before (monotonic).
    pub(crate) due: Duration,
}
