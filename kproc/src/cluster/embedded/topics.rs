//! Topics: names, ids, settings, partitions.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use uuid::Uuid;

use super::log::Log;
use crate::{
    cluster::{ClusterError, ClusterErrorKind, NewTopic, Result, TopicDescription},
    record::{Partition, TopicPartition},
    topic::name_problem,
};

/// All topics.
#[derive(Default)]
pub(super) struct Topics {
    by_name: BTreeMap<Arc<str>, Topic>,
}

/// One topic.
pub(super) struct Topic {
    pub(super) id: Uuid,
    pub(super) config: TopicConfig,
    pub(super) partitions: Vec<Log>,
}

/// The settings that do something here, and those that are only kept.
#[derive(Debug, Clone)]
pub(super) struct TopicConfig {
    pub(super) compact: bool,
    pub(super) delete: bool,
    /// `None`: for ever.
    pub(super) retention: Option<Duration>,
    /// `None`: without bounds.
    pub(super) retention_bytes: Option<u64>,
    pub(super) delete_retention: Duration,
    pub(super) max_message_bytes: usize,
    pub(super) kept: BTreeMap<String, String>,
}

impl Default for TopicConfig {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            compact: false,
            delete: true,
            retention: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            retention_bytes: None,
            delete_retention: Duration::from_secs(24 * 60 * 60),
            max_message_bytes: 1_048_588,
            kept: BTreeMap::new(),
        }
    }
}

/// Settings of Kafka topics that mean nothing to a log in memory. They are kept and described.
const KEPT: [&str; 18] = [
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "index.interval.bytes",
    "max.compaction.lag.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
];

impl TopicConfig {
    fn parse(settings: &[(String, String)]) -> std::result::Result<Self, String> {
        let mut config = Self::default();
        for (name, value) in settings {
            let number = || {
                value
                    .parse::<i64>()
                    .map_err(|_| format!("`{name}` takes a number, not `{value}`"))
            };
            match name.as_str() {
                "cleanup.policy" => {
                    (config.compact, config.delete) = (false, false);
                    for policy in value.split(',').map(str::trim) {
                        match policy {
                            "compact" => config.compact = true,
                            "delete" => config.delete = true,
                            _ => {
                                return Err(format!(
                                    "`cleanup.policy` is `compact`, `delete` or both, not `{value}`"
                                ));
                            }
                        }
                    }
                }
                "retention.ms" => config.retention = u64::try_from(number()?).ok().map(Duration::from_millis),
                "retention.bytes" => config.retention_bytes = u64::try_from(number()?).ok(),
                "delete.retention.ms" => {
                    config.delete_retention =
                        Duration::from_millis(u64::try_from(number()?).unwrap_or_default());
                }
                "max.message.bytes" => {
                    config.max_message_bytes = usize::try_from(number()?).unwrap_or_default();
                }
                other if KEPT.contains(&other) => drop(config.kept.insert(name.clone(), value.clone())),
                other => return Err(format!("`{other}` is not a setting of a topic")),
            }
        }
        Ok(config)
    }

    fn describe(&self) -> Vec<(String, String)> {
        let policy = match (self.compact, self.delete) {
            (true, true) => "compact,delete",
            (true, false) => "compact",
            _ => "delete",
        };
        let signed = |number: Option<u128>| number.map_or("-1".into(), |number| number.to_string());
        let mut settings = self.kept.clone();
        settings.extend([
            ("cleanup.policy".into(), policy.into()),
            (
                "retention.ms".into(),
                signed(self.retention.map(|time| time.as_millis())),
            ),
            (
                "retention.bytes".into(),
                signed(self.retention_bytes.map(u128::from)),
            ),
            (
                "delete.retention.ms".into(),
                self.delete_retention.as_millis().to_string(),
            ),
            ("max.message.bytes".into(), self.max_message_bytes.to_string()),
        ]);
        settings.into_iter().collect()
    }
}

impl Topics {
    pub(super) fn get(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.by_name.get_mut(name)
    }

    pub(super) fn log(&self, place: &TopicPartition) -> Result<&Log> {
        let log = self
            .get(&place.topic)
            .and_then(|topic| topic.log(place.partition));
        log.ok_or_else(|| unknown(place))
    }

    pub(super) fn log_mut(&mut self, place: &TopicPartition) -> Result<&mut Log> {
        let topic = self.by_name.get_mut(&place.topic);
        let log = topic.and_then(|topic| topic.partitions.get_mut(place.partition.get() as usize));
        log.ok_or_else(|| unknown(place))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&Arc<str>, &mut Topic)> {
        self.by_name.iter_mut()
    }

    /// How many partitions the topics have.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&Arc<str>, u32)> {
        self.by_name
            .iter()
            .map(|(name, topic)| (name, topic.partitions.len() as u32))
    }

    pub(super) fn create(&mut self, new: &NewTopic, id: Uuid) -> Result<()> {
        let config = self.check_new(new)?;
        let partitions = (0..new.partitions).map(|_| Log::default()).collect();
        let topic = Topic {
            id,
            config,
            partitions,
        };
        self.by_name.insert(new.name.clone(), topic);
        Ok(())
    }

    /// Whether this topic could be made; the settings that it would have.
    pub(super) fn check_new(&self, new: &NewTopic) -> Result<TopicConfig> {
        let refuse = |problem: &str| {
            ClusterError::new(
                ClusterErrorKind::Fatal,
                format_args!("topic {:?} cannot be made: {problem}", new.name),
            )
        };
        if let Some(problem) = name_problem(new.name.as_bytes()) {
            return Err(refuse(problem));
        }
        if self.by_name.contains_key(&new.name) {
            let problem = format_args!("topic `{}` exists already", new.name);
            return Err(ClusterError::new(ClusterErrorKind::TopicExists, problem));
        }
        if new.partitions == 0 {
            return Err(refuse("it needs at least one partition"));
        }
        TopicConfig::parse(&new.config).map_err(|problem| refuse(&problem))
    }

    pub(super) fn delete(&mut self, name: &Arc<str>) -> Result<Topic> {
        self.by_name.remove(name).ok_or_else(|| {
            ClusterError::new(
                ClusterErrorKind::UnknownTopic,
                format_args!("there is no topic `{name}`"),
            )
        })
    }

    /// Records of a topic that is only compacted cannot be deleted by offset.
    pub(super) fn check_deletable(&self, place: &TopicPartition) -> Result<()> {
        if self.get(&place.topic).is_some_and(|topic| !topic.config.delete) {
            let message = format_args!(
                "topic `{}` is compacted: its records cannot be deleted by offset",
                place.topic
            );
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        Ok(())
    }

    pub(super) fn describe(&self, name: &Arc<str>) -> Option<TopicDescription> {
        self.get(name).map(|topic| TopicDescription {
            name: name.clone(),
            id: topic.id,
            partitions: topic.partitions.len() as u32,
            config: topic.config.describe(),
        })
    }
}

impl Topic {
    pub(super) fn log(&self, partition: Partition) -> Option<&Log> {
        self.partitions.get(partition.get() as usize)
    }
}

#[cold]
pub(super) fn unknown(place: &TopicPartition) -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::UnknownTopic,
        format_args!("there is no partition {place}"),
    )
}
