//! Records that have left their outbox, on their way to a cluster.

use std::{mem::swap, sync::Arc};

use super::{Outbox, OutgoingRecord, Row};

/// All that an outbox had at one time.
#[derive(Default)]
pub(crate) struct Parcel {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// By their numbers in the outbox.
    topics: Vec<Arc<str>>,
}

impl Parcel {
    /// Takes what an outbox has, in place of what was in here, and leaves it the memory of that: nothing is copied.
    pub(crate) fn take(&mut self, outbox: &mut Outbox) {
        self.clear();
        swap(&mut self.bytes, &mut outbox.bytes);
        swap(&mut self.rows, &mut outbox.rows);
        self.topics.extend(outbox.topics.targets().cloned());
    }

    /// The record of this number, counted from zero.
    pub(crate) fn get(&self, number: usize) -> Option<OutgoingRecord<'_>> {
        let row = self.rows.get(number)?;
        Some(row.record(&self.bytes, &self.topics[row.topic.index()]))
    }

    /// How many bytes of keys, values and headers it has.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many topics the outbox knew.
    pub(crate) fn topics(&self) -> usize {
        self.topics.len()
    }

    /// Bytes of memory that it keeps.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.rows.capacity() * size_of::<Row>()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.topics.clear();
    }
}
