//! The inputs of a task, merged: which record is next.

use std::{sync::Arc, time::Duration};

use crate::{
    batch::Batch,
    record::{Offset, Partition, Record, Timestamp},
    topology::{TaskGroup, Topology},
};

/// A unit that reads an input, and the number by which its processor knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub(super) unit: usize,
    pub(super) number: usize,
}

/// One input.
pub(super) struct Input {
    /// Name in the program.
    pub(super) topic: Arc<str>,
    pub(super) readers: Vec<Reader>,
    batch: Batch,
    /// The place after the last record that was done.
    pub(super) next: Option<Offset>,
    /// Whether there are records which have not come yet; unknown counts as yes.
    more: bool,
}

/// The timestamp of an input's next record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// Not negative.
    pub(super) timestamp: Option<Timestamp>,
    /// The timestamp, unless it is too far ahead of wall time: what decides the order of records, and what
    /// stream time may follow.
    pub(super) order: Option<Timestamp>,
}

/// All inputs of a task.
pub(super) struct Inputs {
    list: Vec<Input>,
    /// Since when an input that is not known to have more has had no record, while others had.
    idle_since: Option<Duration>,
    max_idle: Duration,
    /// Later timestamps are too far ahead.
    horizon: Option<Timestamp>,
}

impl Inputs {
    pub(super) fn new(topology: &Topology, group: &TaskGroup, max_idle: Duration) -> Self {
        let list = group.inputs.iter().map(|topic| {
            let units = group.processors.iter().enumerate();
            let readers = units.flat_map(|(unit, processor)| {
                let inputs = topology.processors[*processor].inputs.iter();
                let mine = inputs.filter(|input| input.topic.name == topic.name);
                mine.map(move |input| Reader {
                    unit,
                    number: input.number,
                })
            });
            Input {
                topic: topic.name.clone(),
                readers: readers.collect(),
                batch: Batch::default(),
                next: None,
                more: true,
            }
        });
        Self {
            list: list.collect(),
            idle_since: None,
            max_idle,
            horizon: None,
        }
    }

    pub(super) fn get(&self, input: usize) -> &Input {
        &self.list[input]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Input> {
        self.list.iter()
    }

    pub(super) fn feed(&mut self, input: usize, batch: Batch) {
        self.list[input].batch.append(batch);
    }

    /// How many records wait in an input.
    pub(super) fn buffered(&self, input: usize) -> usize {
        self.list[input].batch.remaining()
    }

    /// Records with later timestamps are too far ahead.
    pub(super) fn set_horizon(&mut self, horizon: Timestamp) {
        self.horizon = Some(horizon);
    }

    pub(super) fn known(&mut self, input: usize, position: Option<Offset>, end: Option<Offset>) {
        self.list[input].more = match (position, end) {
            (Some(position), Some(end)) => position < end,
            _ => true,
        };
    }

    /// The input whose record is next: the lowest timestamp first, records without one before all, then in
    /// order of the inputs.
    #[inline]
    pub(super) fn choose(&mut self, now: Duration) -> Option<(usize, Head)> {
        if self.list.len() == 1 {
            return self.choose_this(0);
        }
        self.choose_among(now)
    }

    /// This input, if it has a record.
    #[inline]
    pub(super) fn choose_this(&self, input: usize) -> Option<(usize, Head)> {
        let head = self.list[input].head(self.horizon)?;
        Some((input, head))
    }

    fn choose_among(&mut self, now: Duration) -> Option<(usize, Head)> {
        let mut best: Option<(usize, Head)> = None;
        let (mut waits, mut idles) = (false, false);
        for (number, input) in self.list.iter().enumerate() {
            match input.head(self.horizon) {
                // `None` is less than any timestamp.
                Some(head) if best.is_none_or(|(_, best)| head.order < best.order) => {
                    best = Some((number, head));
                }
                Some(_) => {}
                None if input.more => waits = true,
                None => idles = true,
            }
        }
        let best = best?;
        if waits {
            return None;
        }
        if !idles {
            self.idle_since = None;
            return Some(best);
        }
        let since = *self.idle_since.get_or_insert(now);
        (now >= since.saturating_add(self.max_idle)).then_some(best)
    }

    /// When the wait for an idle input ends, if there is one.
    pub(super) fn idle_until(&self) -> Option<Duration> {
        let waiting = self.list.iter().any(Input::has_record)
            && self.list.iter().all(|input| input.has_record() || !input.more);
        let since = self.idle_since.filter(|_| waiting)?;
        Some(since.saturating_add(self.max_idle))
    }

    /// The input's next record is done.
    #[inline]
    pub(super) fn done(&mut self, input: usize) {
        let input = &mut self.list[input];
        if let Some(offset) = input.offset() {
            input.next = Some(offset.next());
            input.batch.advance();
        }
    }
}

impl Input {
    /// Whether a record waits.
    #[inline]
    fn has_record(&self) -> bool {
        self.batch.remaining() > 0
    }

    /// Where the next record is.
    #[inline]
    pub(super) fn offset(&self) -> Option<Offset> {
        self.batch.head().map(|(offset, _)| offset)
    }

    #[inline]
    fn head(&self, horizon: Option<Timestamp>) -> Option<Head> {
        let (_, timestamp) = self.batch.head()?;
        let timestamp = not_negative(timestamp);
        let order = timestamp.filter(|timestamp| horizon.is_none_or(|horizon| *timestamp <= horizon));
        Some(Head { timestamp, order })
    }

    /// The next record, as the reader that knows the input by this number sees it. Its timestamp is not
    /// negative; if it has none, it is the one that it is `given`.
    // Returned by value into its place: a copy made of it at once would stall.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured")]
    pub(super) fn record(
        &self,
        number: usize,
        partition: Partition,
        given: Option<Timestamp>,
    ) -> Option<Record<'_>> {
        let mut record = self.batch.record(number, partition)?;
        record.timestamp = not_negative(record.timestamp).or(given);
        Some(record)
    }
}

#[inline]
fn not_negative(timestamp: Option<Timestamp>) -> Option<Timestamp> {
    timestamp.filter(|timestamp| *timestamp >= Timestamp::EPOCH)
}
