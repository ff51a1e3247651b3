//! One partition's log: segments in order of their offsets, shared with all who read them.
//!
//! What may be here: places, appending, reading, the ends, what transactions do to visibility. What may not:
//! cleaning (see `compaction`), waiting, other partitions.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::Arc,
};

use super::waiters::Waiters;
use crate::{
    batch::{Batch, Segment},
    cluster::{Isolation, Watermarks},
    record::{Offset, Timestamp},
};

/// A transaction, by number: never the same number again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TxnNumber(pub(super) u64);

/// What readers see of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    /// Everybody sees it.
    All,
    /// It belongs to a transaction that is not decided.
    Open(TxnNumber),
    /// It belongs to an aborted transaction: `read_uncommitted` sees it.
    Aborted,
    /// A control marker: takes an offset and is no record.
    Marker,
}

/// A segment in its log.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Rows in order of their offsets, perhaps with gaps; none for a marker.
    pub(super) segment: Arc<Segment>,
    pub(super) visibility: Visibility,
    /// The first place that the entry took when it was written.
    pub(super) first: Offset,
    /// The place after the last one.
    pub(super) next: Offset,
    /// The latest of the records' timestamps and, for those without, of the time of writing.
    pub(super) latest: Timestamp,
    /// When the tombstones in here, or the marker, may go: set by the first cleaning that met them.
    pub(super) passing_until: Option<Timestamp>,
}

impl Entry {
    /// What it counts for `retention.bytes`.
    pub(super) fn bytes(&self) -> u64 {
        (self.segment.bytes.len() + self.segment.rows.len() * RECORD_OVERHEAD) as u64
    }
}

/// About what a record takes beside its content in Kafka's format.
const RECORD_OVERHEAD: usize = 10;

/// The offset that was asked for is not between the start and the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutOfRange {
    pub(super) start: Offset,
    pub(super) end: Offset,
}

/// A partition's log.
pub(super) struct Log {
    pub(super) entries: VecDeque<Entry>,
    pub(super) start: Offset,
    pub(super) end: Offset,
    /// Undecided transactions, and where they begin here.
    open: BTreeMap<TxnNumber, Offset>,
    /// Who wants to hear when there is more to read.
    pub(super) waiters: Waiters,
}

impl Default for Log {
    fn default() -> Self {
        let (entries, open, waiters) = (VecDeque::new(), BTreeMap::new(), Waiters::default());
        Self {
            entries,
            start: Offset::ZERO,
            end: Offset::ZERO,
            open,
            waiters,
        }
    }
}

impl Log {
    /// Writes a segment, whose rows get their offsets now. Says which place comes next.
    pub(super) fn append(&mut self, mut segment: Segment, txn: Option<TxnNumber>, wall: Timestamp) -> Offset {
        let first = self.end;
        let mut latest = None;
        for row in &mut segment.rows {
            row.offset = self.end;
            self.end = self.end.next();
            latest = latest.max(Some(row.timestamp.unwrap_or(wall)));
        }
        if let Some(txn) = txn {
            self.open.entry(txn).or_insert(first);
        }
        let visibility = txn.map_or(Visibility::All, Visibility::Open);
        self.push(Arc::new(segment), visibility, first, latest.unwrap_or(wall));
        self.end
    }

    /// Decides a transaction: writes its marker, and says whether it had anything here.
    pub(super) fn settle(&mut self, txn: TxnNumber, committed: bool, wall: Timestamp) -> bool {
        let Some(first) = self.open.remove(&txn) else {
            return false;
        };
        let begin = self.entries.partition_point(|entry| entry.next <= first);
        for entry in self.entries.range_mut(begin..) {
            if entry.visibility == Visibility::Open(txn) {
                entry.visibility = if committed {
                    Visibility::All
                } else {
                    Visibility::Aborted
                };
            }
        }
        let place = self.end;
        self.end = place.next();
        self.push(Arc::default(), Visibility::Marker, place, wall);
        true
    }

    fn push(&mut self, segment: Arc<Segment>, visibility: Visibility, first: Offset, latest: Timestamp) {
        let next = self.end;
        let entry = Entry {
            segment,
            visibility,
            first,
            next,
            latest,
            passing_until: None,
        };
        self.entries.push_back(entry);
    }

    /// Deletes the records before `offset`; returns the entries that are gone, to be dropped without the lock.
    pub(super) fn delete_before(&mut self, offset: Offset) -> Result<VecDeque<Entry>, OutOfRange> {
        if offset > self.end {
            return Err(OutOfRange {
                start: self.start,
                end: self.end,
            });
        }
        self.start = self.start.max(offset);
        let kept = self.entries.partition_point(|entry| entry.next <= self.start);
        let rest = self.entries.split_off(kept);
        Ok(std::mem::replace(&mut self.entries, rest))
    }

    /// The first and last places.
    pub(super) fn watermarks(&self) -> Watermarks {
        Watermarks {
            earliest: self.start,
            stable: self.stable(),
            latest: self.end,
        }
    }

    /// The last stable offset: where the first undecided transaction begins.
    pub(super) fn stable(&self) -> Offset {
        self.open
            .values()
            .min()
            .copied()
            .unwrap_or(self.end)
            .max(self.start)
    }

    /// Where a reader of this isolation comes to an end.
    pub(super) fn limit(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::ReadCommitted => self.stable(),
            Isolation::ReadUncommitted => self.end,
        }
    }

    /// Records from `from` on, `max` at most, and where to read on: past gaps, markers and what the reader
    /// does not see.
    pub(super) fn read(
        &self,
        from: Offset,
        max: usize,
        isolation: Isolation,
    ) -> Result<(Batch, Offset), OutOfRange> {
        if from < self.start || from > self.end {
            return Err(OutOfRange {
                start: self.start,
                end: self.end,
            });
        }
        let limit = self.limit(isolation);
        let mut batch = Batch::default();
        let begin = self.entries.partition_point(|entry| entry.next <= from);
        for entry in self.entries.range(begin..) {
            if entry.first >= limit {
                break;
            }
            let hidden = isolation == Isolation::ReadCommitted && entry.visibility == Visibility::Aborted;
            if hidden || entry.segment.rows.is_empty() {
                continue;
            }
            let room = max - batch.remaining();
            let rows = rows_from(&entry.segment, from);
            if rows.len() > room {
                let rows = rows.start..rows.start + room as u32;
                // Without room the next record is the place to read on.
                let next = entry.segment.rows[rows.end as usize].offset;
                batch.push(entry.segment.clone(), rows);
                return Ok((batch, next));
            }
            batch.push(entry.segment.clone(), rows);
        }
        Ok((batch, limit.max(from)))
    }
}

/// The rows that are not before `from`.
fn rows_from(segment: &Segment, from: Offset) -> Range<u32> {
    let begin = segment.rows.partition_point(|row| row.offset < from);
    begin as u32..segment.rows.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::SegmentRow;

    const WALL: Timestamp = Timestamp::from_millis(1_000);

    fn segment(records: u32) -> Segment {
        let row = |place: u32| SegmentRow {
            offset: Offset::ZERO,
            timestamp: None,
            key: None,
            value: Some(place..place + 1),
            headers: 0..0,
        };
        Segment {
            bytes: (0..records as u8).collect(),
            rows: (0..records).map(row).collect(),
        }
    }

    fn read(log: &Log, from: u64, max: usize, isolation: Isolation) -> (Vec<u64>, u64) {
        let (mut batch, next) = log.read(Offset::new(from), max, isolation).unwrap();
        let mut offsets = vec![];
        while let Some((offset, _)) = batch.head() {
            offsets.push(offset.get());
            batch.advance();
        }
        (offsets, next.get())
    }

    #[test]
    fn reads_across_segments_and_stops_at_max() {
        let mut log = Log::default();
        assert_eq!(log.append(segment(3), None, WALL), Offset::new(3));
        assert_eq!(log.append(segment(2), None, WALL), Offset::new(5));
        let all = Isolation::ReadUncommitted;
        assert_eq!(read(&log, 0, 10, all), (vec![0, 1, 2, 3, 4], 5));
        assert_eq!(read(&log, 1, 2, all), (vec![1, 2], 3));
        assert_eq!(read(&log, 2, 2, all), (vec![2, 3], 4));
        assert_eq!(read(&log, 5, 2, all), (vec![], 5));
        let end = OutOfRange {
            start: Offset::ZERO,
            end: Offset::new(5),
        };
        assert_eq!(log.read(Offset::new(6), 1, all).err(), Some(end));
    }

    #[test]
    fn undecided_and_aborted_records_are_for_read_uncommitted() {
        let (one, two) = (TxnNumber(1), TxnNumber(2));
        let mut log = Log::default();
        log.append(segment(1), Some(one), WALL);
        log.append(segment(1), None, WALL);
        log.append(segment(1), Some(two), WALL);
        let (committed, all) = (Isolation::ReadCommitted, Isolation::ReadUncommitted);
        assert_eq!(read(&log, 0, 10, committed), (vec![], 0));
        assert_eq!(read(&log, 0, 10, all), (vec![0, 1, 2], 3));

        assert!(log.settle(one, false, WALL));
        assert_eq!(log.stable(), Offset::new(2));
        assert_eq!(read(&log, 0, 10, committed), (vec![1], 2));

        assert!(log.settle(two, true, WALL));
        assert!(!log.settle(two, true, WALL));
        assert_eq!(read(&log, 0, 10, committed), (vec![1, 2], 5));
        assert_eq!(read(&log, 0, 1, committed), (vec![1], 2));
        assert_eq!(read(&log, 0, 10, all), (vec![0, 1, 2], 5));
    }

    #[test]
    fn e13_the_position_passes_a_tail_of_aborted_records() {
        let mut log = Log::default();
        log.append(segment(100), Some(TxnNumber(1)), WALL);
        log.settle(TxnNumber(1), false, WALL);
        assert_eq!(read(&log, 0, 10, Isolation::ReadCommitted), (vec![], 101));
    }
}
