//! How large a record is in Kafka's format.

use super::OutgoingRecord;

/// What a batch takes before its first record.
const BATCH_HEADER: usize = 61;

/// Attributes, timestamp delta, offset delta.
const FIXED: usize = 3;

/// The framing of a record in a batch of its own, besides its key, value and headers, is never longer.
pub(crate) const FRAMING: usize = BATCH_HEADER + 5 + FIXED + 3 * 5;

impl OutgoingRecord<'_> {
    /// What the record takes alone in a batch of Kafka's format (version 2), before compression. A broker compares
    /// batches, as they come, with `max.message.bytes`: a record of this size or less is never too large.
    pub fn size_in_batch(&self) -> usize {
        let headers: usize = self
            .headers
            .iter()
            .map(|(name, value)| varint(name.len()) + name.len() + block(value))
            .sum();
        let count = if self.headers.is_empty() {
            0
        } else {
            self.headers.iter().count()
        };
        let body = FIXED + block(self.key) + block(self.value) + varint(count) + headers;
        BATCH_HEADER + varint(body) + body
    }
}

fn block(block: Option<&[u8]>) -> usize {
    block.map_or(1, |block| varint(block.len()) + block.len())
}

/// The length of a zigzag varint of this number.
fn varint(number: usize) -> usize {
    let bits = usize::BITS - (number << 1).leading_zeros();
    (bits.div_ceil(7) as usize).max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Outbox, RawRecord};

    #[test]
    fn b19_the_size_of_a_record_is_that_of_kafkas_format() {
        let size = |record: RawRecord<'_>| {
            let mut outbox = Outbox::default();
            outbox.push_raw(&Arc::from("t"), &record);
            outbox.iter().next().unwrap().size_in_batch()
        };
        // Length, 3 fixed bytes, null key, null value, no headers.
        assert_eq!(size(RawRecord::default()), 61 + 1 + 3 + 1 + 1 + 1);
        let key: &[u8] = b"k";
        assert_eq!(
            size(RawRecord {
                key: Some(key),
                ..RawRecord::default()
            }),
            61 + 1 + 3 + 2 + 1 + 1
        );
        let value = vec![0; 64];
        assert_eq!(
            size(RawRecord {
                value: Some(&value),
                ..RawRecord::default()
            }),
            61 + 2 + 3 + 1 + 66 + 1
        );
        let headers: &[(&[u8], Option<&[u8]>)] = &[(b"a", None), (b"b", Some(b""))];
        assert_eq!(
            size(RawRecord {
                headers,
                ..RawRecord::default()
            }),
            61 + 1 + 3 + 1 + 1 + 1 + 3 + 3
        );
    }
}
