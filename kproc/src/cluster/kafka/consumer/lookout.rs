//! Who waits for the end of a partition to be known.
//!
//! A broker's answer that there are no records says where a partition ends, but it puts nothing into the partition's
//! queue, so it wakes nobody. (librdkafka's event for it is not to be used: see the settings of members.) Whoever looked
//! and did not find the end is woken to look again, until it is known.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use super::{super::native::Queue, lock};
use crate::record::TopicPartition;

/// Queues whose readers are to look again.
#[derive(Default)]
pub(super) struct Lookout(Mutex<BTreeMap<TopicPartition, Arc<Queue>>>);

impl Lookout {
    /// The reader of this partition has not found its end.
    pub(super) fn add(&self, place: &TopicPartition, queue: &Arc<Queue>) {
        lock(&self.0).insert(place.clone(), queue.clone());
    }

    /// Lets all look again. To be called every now and then.
    pub(super) fn wake(&self) {
        let all = std::mem::take(&mut *lock(&self.0));
        // Outside the lock: a waker may run anything.
        for queue in all.into_values() {
            queue.wake();
        }
    }
}
