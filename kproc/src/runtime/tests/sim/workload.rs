//! What the instances of a trial work at, and what must come of it.
//!
//! A workload is one file beside this one or in `loads`, entered in [`ALL`]. What may be here: what all workloads have in common. What
//! happens to the instances meanwhile is no business of theirs, nor are local state and committed offsets, which are
//! judged alike for all (see `observer` and `ending`).

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{
    chance::Chance,
    counter::Counter,
    loads::{Chain, Join, Mixed, Timers},
};
use crate::{
    Clock, Error, Offset, Partition, Record, Result, Timestamp, TopicPartition, engine::Factory,
    runtime::Settings, testing::clock::SimClock,
};

/// All workloads.
pub(super) const ALL: &[&dyn Workload] = &[&Counter, &Chain, &Join, &Timers, &Mixed];

/// What holds, or in which way it does not.
pub(super) type Verdict = std::result::Result<(), String>;

/// See the module.
pub(super) trait Workload: Sync {
    /// Its name in commands.
    fn name(&self) -> &'static str;
    /// Its topics, with their numbers of partitions. Changelogs are made by the instances.
    fn topics(&self) -> &'static [(&'static str, u32)];
    /// What is written to its inputs, in the order of time: for a few seconds. A trial may end earlier and write only the
    /// first of it.
    fn input(&self, chance: &mut Chance) -> Vec<Write>;
    /// The processors of an instance.
    fn factories(&self, stand: &Stand) -> Vec<Factory>;
    /// The judge of a trial in which this is written.
    fn judge(&self, mode: Mode, input: &[Write]) -> Box<dyn Judge>;
    /// How long the instances that finish the work go on after all of it is done: something may be due by the clock.
    fn lingers(&self) -> Duration {
        Duration::ZERO
    }
    /// Changes how instances are run, if that matters here.
    fn settings(&self, settings: &mut Settings) {
        let _ = settings;
    }
}

/// What a trial's instances promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    AtLeastOnce,
    ExactlyOnce,
}

/// A record of the input.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) at: Duration,
    pub(super) topic: &'static str,
    pub(super) partition: u32,
    pub(super) timestamp: Timestamp,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
}

impl Write {
    /// One with a text and a number.
    pub(super) fn number(
        place: (&'static str, u32),
        at: Duration,
        timestamp: Timestamp,
        key: &str,
        value: i64,
    ) -> Self {
        Self {
            at,
            topic: place.0,
            partition: place.1,
            timestamp,
            key: Some(key.into()),
            value: Some(value.to_be_bytes().into()),
        }
    }

    /// The key of such a one.
    pub(super) fn key(&self) -> String {
        String::from_utf8_lossy(self.key.as_deref().unwrap_or_default()).into_owned()
    }

    /// The value of such a one.
    pub(super) fn value(&self) -> i64 {
        let bytes = self.value.as_deref().and_then(|value| value.try_into().ok());
        bytes.map_or(i64::MIN, i64::from_be_bytes)
    }
}

/// Knows what must come of a trial's input.
pub(super) trait Judge {
    /// An observer of committed records sees the next one of a partition: outputs, topics in between, changelogs. (Not
    /// inputs.) What is wrong here is wrong at this moment, whatever may follow.
    fn seen(&mut self, seen: &Seen<'_>) -> Verdict;
    /// All input is processed and committed, and all instances have stopped.
    fn end(&mut self, end: &End<'_>) -> Verdict;
}

/// A committed record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'s> {
    pub(super) place: &'s TopicPartition,
    pub(super) offset: Offset,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) key: Option<&'s [u8]>,
    pub(super) value: Option<&'s [u8]>,
    /// What the group had committed before.
    pub(super) committed: &'s BTreeMap<TopicPartition, Offset>,
    /// Records may have been on their way for long: see [`End`].
    pub(super) may_be_late: bool,
}

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.place, self.offset)?;
        self.timestamp
            .map_or(Ok(()), |timestamp| write!(f, " of {timestamp:?}"))
    }
}

/// The encoded entries of a store in one partition.
pub(super) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// What is left when all is over.
#[derive(Debug)]
pub(super) struct End<'e> {
    /// What each changelog comes to. (Local state is the same: that has been judged already.)
    pub(super) tables: &'e BTreeMap<TopicPartition, Rows>,
    /// Records may have been on their way for so long that others had the partition meanwhile. At least once, they may then
    /// have been written over newer ones.
    pub(super) had_late_records: bool,
}

/// Where the processors of one instance stand.
#[derive(Clone)]
pub(super) struct Stand {
    /// The number of the instance: another one after each start.
    pub(super) instance: u64,
    pub(super) mode: Mode,
    pub(super) clock: SimClock,
    pub(super) diary: Diary,
    /// One in so many records makes its handler panic, and one in so many timers panics or fails; `None`: none does.
    pub(super) panics: Option<u64>,
    /// How many timers of stream time have fired, all in all.
    pub(super) by_stream: Arc<AtomicU64>,
}

/// Something in a handler that went wrong.
#[derive(Debug, Clone, Copy)]
enum Unlucky {
    Panics,
    Fails,
}

impl Stand {
    /// A place to wait in the middle of a record, now and then. Every handler should have one.
    pub(super) async fn pause(&self) {
        if self.clock.random().is_multiple_of(4) {
            self.clock.point("in a handler").await;
        }
    }

    fn stumble(&self, what: &'static str, how: &[(u64, Unlucky)]) -> Result<()> {
        let unlucky = |one_in| self.clock.mishap(one_in, &what, how);
        match self.panics.and_then(unlucky) {
            // As a panic, without a word.
            Some(Unlucky::Panics) => std::panic::resume_unwind(Box::new("no luck")),
            Some(Unlucky::Fails) => Err(Error::msg("no luck")),
            None => Ok(()),
        }
    }

    /// The end of a timer's turn: it may panic or fail, if handlers do.
    pub(super) fn fired(&self) -> Result<()> {
        self.stumble("a timer", &[(1, Unlucky::Panics), (2, Unlucky::Fails)])
    }

    /// The beginning of the turn of a timer that goes by stream time.
    pub(super) fn fires_by_stream(&self) {
        self.by_stream.fetch_add(1, Relaxed);
    }

    /// The end of every handler: a record of this topic was processed, or panics.
    pub(super) fn done(&self, topic: &'static str, record: &Record<'_>) {
        // It does not fail: what comes of that is for the workload to say.
        let _ = self.stumble("a handler", &[(1, Unlucky::Panics)]);
        self.diary.note(Line {
            instance: self.instance,
            topic,
            partition: record.partition,
            offset: record.offset,
        });
    }
}

/// A record that was processed, whether or not anything came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) instance: u64,
    pub(super) topic: &'static str,
    pub(super) partition: Partition,
    pub(super) offset: Offset,
}

/// Who has processed what, in order.
#[derive(Clone, Default)]
pub(super) struct Diary(Arc<Mutex<Vec<Line>>>);

impl Diary {
    fn note(&self, line: Line) {
        self.0.lock().unwrap().push(line);
    }

    /// What was noted, from that line on.
    pub(super) fn since(&self, line: usize) -> Vec<Line> {
        self.0.lock().unwrap()[line..].to_vec()
    }
}
