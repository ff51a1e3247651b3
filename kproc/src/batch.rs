//! Records on their way from a partition to a task.

use std::{any::Any, fmt, ops::Range, sync::Arc};

use crate::record::{Headers, Offset, Partition, Record, Timestamp};

/// Records of one partition, in order, and what keeps them alive. Read like a cursor; `Send`, so that a
/// half-read batch moves with its task.
#[derive(Default)]
pub struct Batch {
    /// Which rows of what.
    pieces: Vec<(Source, Range<u32>)>,
    piece: usize,
    remaining: usize,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

/// What keeps records alive.
enum Source {
    /// A part of an embedded log.
    Segment(Arc<Segment>),
    /// Messages of a client library.
    Lent(Arc<Lent>),
}

impl Source {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "as for `Batch::record`, which it is a part of"
    )]
    fn row(&self, row: u32) -> LentRow<'_> {
        match self {
            Self::Segment(segment) => segment.row(row),
            Self::Lent(lent) => lent.row(row),
        }
    }
}

/// A record, lent. `None` is null.
#[derive(Clone, Copy)]
pub(crate) struct LentRow<'l> {
    pub(crate) offset: Offset,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) key: Option<&'l [u8]>,
    pub(crate) value: Option<&'l [u8]>,
    pub(crate) headers: Headers<'l>,
}

/// Records in the memory of somebody else: the messages of a client library, say. A table of where they are, made
/// once per batch, so that a record is read without a call.
pub(crate) struct Lent {
    /// As long-lived as `keeper`, whatever their type says.
    rows: Vec<LentRow<'static>>,
    #[allow(dead_code, reason = "keeps what the rows are in")]
    keeper: Box<dyn Any + Send + Sync>,
}

impl Lent {
    /// Records, and what keeps them alive: nobody sees them without it.
    #[cfg_attr(
        not(feature = "kafka"),
        allow(dead_code, reason = "it is librdkafka's messages that are lent")
    )]
    pub(crate) fn new(rows: Vec<LentRow<'static>>, keeper: Box<dyn Any + Send + Sync>) -> Self {
        Self { rows, keeper }
    }

    /// A record, for as long as all of them are here.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "as for `Batch::record`, which it is a part of"
    )]
    fn row(&self, row: u32) -> LentRow<'_> {
        self.rows[row as usize]
    }
}

/// Records that were written in one go: one buffer, shared by the log and by all who read it.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: Vec<SegmentRow>,
}

/// A record of a [`Segment`]. `None` ranges are nulls.
#[derive(Debug, Clone)]
pub(crate) struct SegmentRow {
    pub(crate) offset: Offset,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) key: Option<Range<u32>>,
    pub(crate) value: Option<Range<u32>>,
    pub(crate) headers: Range<u32>,
}

impl Segment {
    #[inline]
    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "as for `Batch::record`, which it is a part of"
    )]
    fn row(&self, row: u32) -> LentRow<'_> {
        let row = &self.rows[row as usize];
        LentRow {
            offset: row.offset,
            timestamp: row.timestamp,
            key: row.key.as_ref().map(|range| self.slice(range)),
            value: row.value.as_ref().map(|range| self.slice(range)),
            headers: Headers::from_encoded(self.slice(&row.headers)),
        }
    }

    /// The key of one of its rows.
    pub(crate) fn key(&self, row: &SegmentRow) -> Option<&[u8]> {
        row.key.as_ref().map(|range| self.slice(range))
    }

    /// A segment with only these of its rows.
    pub(crate) fn copy_of(&self, rows: &[&SegmentRow]) -> Self {
        let mut copy = Self {
            bytes: Vec::new(),
            rows: Vec::with_capacity(rows.len()),
        };
        for row in rows {
            let mut append = |range: &Range<u32>| {
                let start = copy.bytes.len() as u32;
                copy.bytes.extend_from_slice(self.slice(range));
                start..copy.bytes.len() as u32
            };
            copy.rows.push(SegmentRow {
                offset: row.offset,
                timestamp: row.timestamp,
                key: row.key.as_ref().map(&mut append),
                value: row.value.as_ref().map(&mut append),
                headers: append(&row.headers),
            });
        }
        copy.bytes.shrink_to_fit();
        copy
    }
}

impl Batch {
    /// Adds rows of a segment.
    pub(crate) fn push(&mut self, segment: Arc<Segment>, rows: Range<u32>) {
        if rows.start < rows.end {
            self.remaining += rows.len();
            self.pieces.push((Source::Segment(segment), rows));
        }
    }

    /// Adds records of a client library.
    #[cfg_attr(
        not(feature = "kafka"),
        allow(dead_code, reason = "it is librdkafka's messages that are lent")
    )]
    pub(crate) fn push_lent(&mut self, lent: Lent) {
        let rows = lent.rows.len();
        if rows > 0 {
            self.remaining += rows;
            self.pieces.push((Source::Lent(Arc::new(lent)), 0..rows as u32));
        }
    }

    /// Adds the records of another batch behind its own.
    pub(crate) fn append(&mut self, mut other: Self) {
        if self.remaining == 0 {
            *self = other;
            return;
        }
        self.remaining += other.remaining;
        self.pieces.extend(other.pieces.drain(other.piece..));
    }

    /// How many records are left.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// The record at the cursor, as coming from this input and partition.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "measured: a copy made of the record at once would stall"
    )]
    pub fn record(&self, input: usize, partition: Partition) -> Option<Record<'_>> {
        let row = self.current()?;
        Some(Record {
            input,
            partition,
            offset: row.offset,
            timestamp: row.timestamp,
            key: row.key,
            value: row.value,
            headers: row.headers,
        })
    }

    /// Bytes of the keys, values and headers that are left.
    pub(crate) fn bytes(&self) -> usize {
        let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
        let rows = self.pieces.iter().skip(self.piece);
        rows.flat_map(|(source, rows)| rows.clone().map(|row| source.row(row)))
            .map(|row| length(row.key) + length(row.value) + row.headers.encoded().len())
            .sum()
    }

    /// Calls `each` with the records that are left, in order; the cursor stays where it is.
    pub(crate) fn each<'b>(&'b self, mut each: impl FnMut(Option<&'b [u8]>, Option<&'b [u8]>)) {
        for (source, rows) in self.pieces.iter().skip(self.piece) {
            for row in rows.clone() {
                let row = source.row(row);
                each(row.key, row.value);
            }
        }
    }

    /// Offset and timestamp of the record at the cursor.
    #[inline]
    pub fn head(&self) -> Option<(Offset, Option<Timestamp>)> {
        self.current().map(|row| (row.offset, row.timestamp))
    }

    /// Goes on to the next record.
    #[inline]
    pub fn advance(&mut self) {
        if let Some((_, rows)) = self.pieces.get_mut(self.piece) {
            rows.start += 1;
            self.remaining -= 1;
            if rows.start >= rows.end {
                self.piece += 1;
                if self.remaining == 0 {
                    // Lets go of what kept the records alive.
                    self.pieces.clear();
                    self.piece = 0;
                }
            }
        }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "as for `Batch::record`, which it is a part of"
    )]
    fn current(&self) -> Option<LentRow<'_>> {
        let (source, rows) = self.pieces.get(self.piece)?;
        Some(source.row(rows.start))
    }
}
