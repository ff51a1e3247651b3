//! What a producer does with an outbox before it leaves the instance: finds each record's partition, checks it,
//! and copies the records of each partition into a segment of their own, of exactly the right size.

use std::{collections::BTreeMap, sync::Arc};

use uuid::Uuid;

use super::topics::unknown;
use crate::{
    batch::{Segment, SegmentRow},
    cluster::{ClusterError, ClusterErrorKind, Result},
    outbox::{Outbox, OutgoingRecord},
    partitioner::partition_of,
    record::{Offset, Partition, Timestamp, TopicPartition},
};

/// Records for one partition.
pub(super) struct Piece {
    pub(super) place: TopicPartition,
    /// The id of the topic they are meant for.
    pub(super) topic: Uuid,
    pub(super) segment: Segment,
}

/// What a producer knows of a topic.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) id: Uuid,
    pub(super) partitions: u32,
    pub(super) compact: bool,
    pub(super) max_message_bytes: usize,
}

/// Where null keys go next, by topic.
pub(super) type Spread = BTreeMap<Arc<str>, u32>;

/// How much goes to a partition.
#[derive(Default, Clone, Copy)]
struct Size {
    bytes: usize,
    rows: usize,
}

/// Splits an outbox by partition; `find` is asked once for each topic. Records that cannot be written are left
/// out; the first error is returned beside the others' pieces.
pub(super) fn split(
    outbox: &Outbox,
    mut find: impl FnMut(&Arc<str>) -> Option<Target>,
    spread: &mut Spread,
    stamp: Option<Timestamp>,
) -> (Vec<Piece>, Result<()>) {
    let mut problem = Ok(());
    // First where everything goes, then the copying: thus no buffer has to grow.
    let mut topics: Vec<Topic> = Vec::new();
    let mut chosen: Vec<Option<Partition>> = Vec::with_capacity(outbox.len());
    for record in outbox.iter() {
        let number = record.topic_id.index();
        if topics.len() <= number {
            topics.resize_with(number + 1, || Topic::Unseen);
        }
        let topic = &mut topics[number];
        if matches!(topic, Topic::Unseen) {
            *topic =
                find(record.topic).map_or(Topic::Unknown, |target| Topic::Known(Parts::new(&record, target)));
        }
        let place = match topic {
            Topic::Known(parts) => parts.place(&record, spread),
            _ => Err(unknown_topic(record.topic)),
        };
        match place {
            Ok(partition) => chosen.push(Some(partition)),
            Err(error) => {
                chosen.push(None);
                problem = problem.and(Err(error));
            }
        }
    }
    for topic in &mut topics {
        if let Topic::Known(parts) = topic {
            parts.allocate();
        }
    }
    for (record, partition) in outbox.iter().zip(chosen) {
        if let Topic::Known(parts) = &mut topics[record.topic_id.index()]
            && let Some(partition) = partition
            && let Some(segment) = &mut parts.segments[partition.get() as usize]
        {
            copy(&record, stamp, segment);
        }
    }
    (topics.into_iter().flat_map(Topic::into_pieces).collect(), problem)
}

/// A topic of the outbox.
enum Topic {
    Unseen,
    Unknown,
    Known(Parts),
}

impl Topic {
    fn into_pieces(self) -> impl Iterator<Item = Piece> {
        let parts = if let Self::Known(parts) = self {
            Some(parts)
        } else {
            None
        };
        parts.into_iter().flat_map(Parts::into_pieces)
    }
}

/// A topic's partitions, and what goes to them.
struct Parts {
    name: Arc<str>,
    target: Target,
    sizes: Vec<Size>,
    segments: Vec<Option<Segment>>,
}

impl Parts {
    fn new(record: &OutgoingRecord<'_>, target: Target) -> Self {
        let sizes = vec![Size::default(); target.partitions as usize];
        Self {
            name: record.topic.clone(),
            target,
            sizes,
            segments: Vec::new(),
        }
    }

    /// The partition of a record, if it can be written at all.
    fn place(&mut self, record: &OutgoingRecord<'_>, spread: &mut Spread) -> Result<Partition> {
        self.check(record)?;
        let partition = match (record.partition, record.key) {
            (Some(partition), _) => partition,
            (None, Some(key)) => partition_of(key, self.target.partitions),
            (None, None) => {
                let next = spread.entry(self.name.clone()).or_default();
                let partition = *next % self.target.partitions;
                *next = partition + 1;
                Partition::new(partition)
            }
        };
        let Some(size) = self.sizes.get_mut(partition.get() as usize) else {
            return Err(unknown(&TopicPartition::new(self.name.clone(), partition)));
        };
        let headers = record.headers.encoded().len();
        size.bytes += record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len) + headers;
        size.rows += 1;
        Ok(partition)
    }

    fn check(&self, record: &OutgoingRecord<'_>) -> Result<()> {
        let (topic, most) = (&self.name, self.target.max_message_bytes);
        let size = record.size_in_batch();
        if size > most {
            let message = format_args!(
                "a record for topic `{topic}` takes {size} bytes, and the topic takes {most} at most: \
                 raise its `max.message.bytes`"
            );
            return Err(ClusterError::new(ClusterErrorKind::RecordTooLarge, message));
        }
        if self.target.compact && record.key.is_none() {
            let message = format_args!("topic `{topic}` is compacted, and takes no record with a null key");
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        Ok(())
    }

    fn allocate(&mut self) {
        let allocate = |size: &Size| {
            let Size { bytes, rows } = *size;
            (rows > 0).then(|| Segment {
                bytes: Vec::with_capacity(bytes),
                rows: Vec::with_capacity(rows),
            })
        };
        self.segments = self.sizes.iter().map(allocate).collect();
    }

    fn into_pieces(self) -> impl Iterator<Item = Piece> {
        let (name, topic) = (self.name, self.target.id);
        (0..).zip(self.segments).filter_map(move |(number, segment)| {
            let place = TopicPartition::new(name.clone(), Partition::new(number));
            Some(Piece {
                place,
                topic,
                segment: segment?,
            })
        })
    }
}

#[cold]
fn unknown_topic(name: &Arc<str>) -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::UnknownTopic,
        format_args!("there is no topic `{name}`"),
    )
}

fn copy(record: &OutgoingRecord<'_>, stamp: Option<Timestamp>, segment: &mut Segment) {
    let bytes = &mut segment.bytes;
    let mut append = |block: &[u8]| {
        let start = bytes.len() as u32;
        bytes.extend_from_slice(block);
        start..bytes.len() as u32
    };
    segment.rows.push(SegmentRow {
        offset: Offset::ZERO, // The log gives the offsets.
        timestamp: record.timestamp.or(stamp),
        key: record.key.map(&mut append),
        value: record.value.map(&mut append),
        headers: append(record.headers.encoded()),
    });
}
