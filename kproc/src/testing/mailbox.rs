//! What a test has yet to receive of a topic.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::Received;
use crate::{
    batch::Batch,
    cluster::{Reader, Result},
    record::{Offset, Partition, TopicPartition},
};

/// How many records are read in one go.
const PIECE: usize = 10_000;

/// A topic as the test reads it: every partition from its beginning, each record once.
pub(super) struct Mailbox {
    topic: Arc<str>,
    /// Where to read on, by partition.
    next: Vec<Offset>,
    /// What was read and not received yet.
    read: VecDeque<(Partition, Batch)>,
}

impl Mailbox {
    pub(super) fn new(topic: Arc<str>, partitions: u32) -> Self {
        Self {
            topic,
            next: vec![Offset::ZERO; partitions as usize],
            read: VecDeque::new(),
        }
    }

    /// Whether all that was read has been received.
    pub(super) fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// Reads what the topic holds now, partition by partition.
    pub(super) async fn collect(&mut self, reader: &mut dyn Reader) -> Result<()> {
        for (number, next) in self.next.iter_mut().enumerate() {
            let partition = Partition::new(number as u32);
            let place = TopicPartition::new(self.topic.clone(), partition);
            loop {
                let found = reader.read(place.clone(), *next, PIECE, Duration::ZERO).await?;
                let end = found.next == *next;
                *next = found.next;
                if found.batch.remaining() > 0 {
                    self.read.push_back((partition, found.batch));
                }
                if end {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The next record that was read.
    pub(super) fn take<K, V>(&mut self) -> Option<Received<K, V>> {
        let (partition, batch) = self.read.front_mut()?;
        let received = Received::new(self.topic.clone(), &batch.record(0, *partition)?);
        batch.advance();
        if batch.remaining() == 0 {
            self.read.pop_front();
        }
        Some(received)
    }
}
