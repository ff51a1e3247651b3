//! The numbers of an outbox's topics: a name is looked at once, its address ever after.

use std::{collections::BTreeMap, sync::Arc};

use kproc_store::codec::Codec;

use super::{Bindings, Limit, TopicId};
use crate::{
    record::Partition,
    topic::{AnyTopic, Topic},
};

#[derive(Default)]
pub(super) struct Topics {
    list: Vec<Entry>,
    /// Constants, by address and length of their names: these never die, so an address cannot come to mean
    /// another name. One name may have several addresses.
    constants: Vec<(usize, usize, TopicId)>,
    /// All that were sent to by a [`Topic`], by their name in the program.
    names: BTreeMap<Arc<str>, TopicId>,
    bindings: Arc<Bindings>,
    /// Which version of the limits the entries have.
    version: u32,
}

struct Entry {
    /// The name in the cluster.
    target: Arc<str>,
    /// The topic as the program knows it; `None` if it is only known by its name in the cluster.
    topic: Option<AnyTopic>,
    /// What it takes, if that is known.
    limit: Option<Limit>,
}

impl Topics {
    pub(super) fn new(bindings: Arc<Bindings>) -> Self {
        Self {
            bindings,
            ..Self::default()
        }
    }

    /// The name in the cluster.
    #[inline]
    pub(super) fn target(&self, topic: TopicId) -> &Arc<str> {
        &self.list[topic.0 as usize].target
    }

    /// The names in the cluster, by number.
    #[cfg(feature = "kafka")]
    pub(super) fn targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.list.iter().map(|entry| &entry.target)
    }

    /// The name in the program, or else in the cluster.
    pub(super) fn name(&self, topic: TopicId) -> &str {
        let entry = &self.list[topic.0 as usize];
        entry.topic.as_ref().map_or(&entry.target, |topic| &topic.name)
    }

    /// Whether a record of so many bytes (in an outbox) must be looked at closely.
    #[inline]
    pub(super) fn may_refuse(&self, topic: TopicId, partition: Option<Partition>, bytes: usize) -> bool {
        let Some(limit) = self.list[topic.0 as usize].limit else {
            return false;
        };
        // Kafka's framing takes at most as much as the record takes here, and a little.
        bytes >= (limit.bytes / 2).saturating_sub(128)
            || partition.map_or(0, Partition::get) >= limit.partitions
    }

    /// What it takes, if that is known.
    pub(super) fn limit(&self, topic: TopicId) -> Option<Limit> {
        self.list[topic.0 as usize].limit
    }

    /// Takes note of what was learned.
    #[inline]
    pub(super) fn refresh(&mut self) {
        let limits = self.bindings.limits();
        let version = limits.version();
        if self.version != version {
            self.version = version;
            for entry in &mut self.list {
                if entry.limit != Some(Limit::RESERVED) {
                    entry.limit = limits.get(&entry.target);
                }
            }
        }
    }

    /// The topics of which nothing is known.
    pub(super) fn unknown(&self) -> Vec<Arc<str>> {
        let unknown = self.list.iter().filter(|entry| entry.limit.is_none());
        unknown.map(|entry| entry.target.clone()).collect()
    }

    /// The number of a topic of the program.
    #[inline]
    pub(super) fn number<K: Codec, V: Codec>(&mut self, topic: &Topic<K, V>) -> TopicId {
        let Some(name) = topic.constant_name() else {
            return self.by_name(topic);
        };
        let (address, length) = (name.as_ptr().addr(), name.len());
        for &(known, its_length, number) in &self.constants {
            if known == address && its_length == length {
                return number;
            }
        }
        let number = self.by_name(topic);
        self.constants.push((address, length, number));
        number
    }

    /// The number of a topic that only has a name in the cluster.
    pub(super) fn in_cluster(&mut self, target: &Arc<str>) -> TopicId {
        // What is refused to the program is not refused to changelogs.
        let is_it = |entry: &Entry| entry.target == *target && entry.limit != Some(Limit::RESERVED);
        if let Some(number) = self.list.iter().position(is_it) {
            return TopicId(number as u32);
        }
        let limit = self.bindings.limits().get(target);
        self.add(target.clone(), None, limit)
    }

    fn by_name<K: Codec, V: Codec>(&mut self, topic: &Topic<K, V>) -> TopicId {
        if let Some(number) = self.names.get(topic.name()) {
            return *number;
        }
        let topic = topic.any();
        self.bindings.note(&topic);
        let name = topic.name.clone();
        let target = self.bindings.get(&name).unwrap_or(&name).clone();
        let limit = if self.bindings.is_reserved(&target) {
            Some(Limit::RESERVED)
        } else {
            self.bindings.limits().get(&target)
        };
        let number = self.add(target, Some(topic), limit);
        self.names.insert(name, number);
        number
    }

    fn add(&mut self, target: Arc<str>, topic: Option<AnyTopic>, limit: Option<Limit>) -> TopicId {
        self.list.push(Entry { target, topic, limit });
        TopicId(self.list.len() as u32 - 1)
    }
}
