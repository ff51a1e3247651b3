//! The cluster as nobody in it can see it: at once, without a link, and whole. For what judges simulations.

use std::sync::Arc;

use super::EmbeddedCluster;
use crate::{
    batch::Batch,
    cluster::{CommittedOffset, Isolation, Result, Watermarks},
    record::{Offset, Partition, TopicPartition},
};

impl EmbeddedCluster {
    /// A number that differs whenever something may be seen that was not there before: records, markers, offsets,
    /// topics.
    pub(crate) fn version(&self) -> u64 {
        self.shared.with(|core| core.version)
    }

    /// All partitions of all topics.
    pub(crate) fn places(&self) -> Vec<TopicPartition> {
        self.shared.with(|core| {
            let mut places = Vec::new();
            for (name, topic) in core.topics.iter_mut() {
                let numbers = 0..topic.partitions.len() as u32;
                places.extend(
                    numbers.map(|number| TopicPartition::new(Arc::clone(name), Partition::new(number))),
                );
            }
            places
        })
    }

    /// The ends of a partition.
    pub(crate) fn ends(&self, place: &TopicPartition) -> Result<Watermarks> {
        self.shared.with(|core| Ok(core.topics.log(place)?.watermarks()))
    }

    /// The committed records from there on, and where they end.
    pub(crate) fn look(&self, place: &TopicPartition, from: Offset) -> Result<(Batch, Offset)> {
        self.shared.with(|core| {
            let log = core.topics.log(place)?;
            let read = log.read(from, usize::MAX, Isolation::ReadCommitted);
            read.map_err(|range| super::queue::out_of_range(place, from, &range))
        })
    }

    /// The offsets that a group has committed.
    pub(crate) fn offsets(&self, group: &str) -> Vec<(TopicPartition, CommittedOffset)> {
        self.shared.with(|core| {
            let offsets = core.groups.get(group).map(|group| &group.offsets);
            let offsets = offsets.into_iter().flatten();
            offsets
                .map(|(place, offset)| (place.clone(), offset.clone()))
                .collect()
        })
    }

    /// A group has committed this, whoever it was.
    pub(crate) fn commit(&self, group: &str, place: TopicPartition, offset: CommittedOffset) {
        self.shared.with(|core| {
            let number = super::group::CommitNumber(core.number());
            core.groups
                .entry(group.into())
                .or_default()
                .put(number, place, offset);
        });
    }

    /// A group loses an offset.
    pub(crate) fn forget(&self, group: &str, place: &TopicPartition) {
        self.shared.with(|core| {
            if let Some(group) = core.groups.get_mut(group) {
                group.offsets.remove(place);
            }
        });
    }

    /// Over which connection the owner of a partition came, if it has one.
    pub(crate) fn owner(&self, group: &str, place: &TopicPartition) -> Option<u64> {
        self.shared.with(|core| {
            let group = core.groups.get(group)?;
            let owner = group.owners.get(place)?;
            group.members.get(&owner.member).map(|member| member.instance)
        })
    }
}

impl super::EmbeddedConnection {
    /// The number of the connection, as [`EmbeddedCluster::owner`] tells it.
    pub(crate) fn number(&self) -> u64 {
        self.instance
    }
}
