//! One who sees all that is committed, at the moment when it is: each record once, in order, and never otherwise than
//! before.

use std::collections::BTreeMap;

use super::{
    super::kit::APP,
    workload::{Judge, Rows, Seen, Verdict},
};
use crate::{Offset, Timestamp, TopicPartition, cluster::embedded::EmbeddedCluster};

/// See the module.
pub(super) struct Observer {
    version: u64,
    /// Where each partition was read to.
    next: BTreeMap<TopicPartition, Offset>,
    /// What was seen there.
    logs: BTreeMap<TopicPartition, Vec<Row>>,
    /// Whether changelogs were compacted.
    pub(super) compacted: bool,
    /// Whether records may have come late.
    pub(super) late: bool,
    /// What the group had committed.
    offsets: BTreeMap<TopicPartition, Offset>,
}

/// A record that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    offset: Offset,
    timestamp: Option<Timestamp>,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
}

impl Observer {
    pub(super) fn new() -> Self {
        Self {
            version: 0,
            next: BTreeMap::new(),
            logs: BTreeMap::new(),
            compacted: false,
            late: false,
            offsets: BTreeMap::new(),
        }
    }

    /// Looks whether there is anything new; says so if something is not as it was, or not as the judge has it.
    pub(super) fn look(&mut self, cluster: &EmbeddedCluster, judge: &mut dyn Judge) -> Verdict {
        let version = cluster.version();
        if version == self.version {
            return Ok(());
        }
        self.version = version;
        for place in cluster.places() {
            let from = self.next.get(&place).copied().unwrap_or(Offset::ZERO);
            let (rows, next) = read(cluster, &place, from)?;
            let log = self.logs.entry(place.clone()).or_default();
            for row in rows {
                let seen = Seen {
                    place: &place,
                    offset: row.offset,
                    timestamp: row.timestamp,
                    key: row.key.as_deref(),
                    value: row.value.as_deref(),
                    committed: &self.offsets,
                    may_be_late: self.late,
                };
                judge.seen(&seen).map_err(|wrong| format!("{seen}: {wrong}"))?;
                log.push(row);
            }
            self.next.insert(place, next);
        }
        for (place, offset) in cluster.offsets(APP) {
            let before = self.offsets.insert(place.clone(), offset.next);
            if before.is_some_and(|before| before > offset.next) {
                return Err(format!(
                    "the committed offset of {place} has gone back from {before:?} to {}",
                    offset.next
                ));
            }
        }
        Ok(())
    }

    /// Reads everything again: it must be what it was, but for what compaction has taken away.
    pub(super) fn look_again(&self, cluster: &EmbeddedCluster) -> Verdict {
        for (place, log) in &self.logs {
            let start = cluster.ends(place).map_err(|error| error.to_string())?.earliest;
            let (rows, _) = read(cluster, place, start)?;
            let mut before = log.iter();
            if let Some(new) = rows.iter().find(|row| !before.any(|before| before == *row)) {
                return Err(format!(
                    "{place}: a reader has passed over {new:?}, which is there now"
                ));
            }
            if !is_changelog(place) && rows.len() < log.len() {
                return Err(format!(
                    "{place}: of {} records {} are left",
                    log.len(),
                    rows.len()
                ));
            }
        }
        Ok(())
    }

    /// The offset that the group has committed.
    pub(super) fn offset(&self, place: &TopicPartition) -> Offset {
        self.offsets.get(place).copied().unwrap_or(Offset::ZERO)
    }

    /// What a changelog comes to at an offset.
    pub(super) fn table(&self, changelog: &TopicPartition, until: Offset) -> Rows {
        let mut table = Rows::new();
        let log = self.logs.get(changelog).into_iter().flatten();
        for row in log.take_while(|row| row.offset < until) {
            match (row.key.clone(), row.value.clone()) {
                (Some(key), Some(value)) => drop(table.insert(key, value)),
                (Some(key), None) => drop(table.remove(&key)),
                (None, _) => {}
            }
        }
        table
    }

    /// Whether a record is missing from a state because compaction has taken it away before a restore came to it: it has
    /// seen the gap, and not yet the record that comes after.
    pub(super) fn is_compacted_away(&self, changelog: &TopicPartition, until: Offset, key: &[u8]) -> bool {
        let mut log = self.logs.get(changelog).into_iter().flatten();
        self.compacted && log.any(|row| row.offset >= until && row.key.as_deref() == Some(key))
    }

    /// What all changelogs come to.
    pub(super) fn tables(&self) -> BTreeMap<TopicPartition, Rows> {
        let changelogs = self.logs.keys().filter(|place| is_changelog(place));
        changelogs
            .map(|place| (place.clone(), self.table(place, Offset::new(u64::MAX))))
            .collect()
    }
}

fn is_changelog(place: &TopicPartition) -> bool {
    place.topic.ends_with("-changelog")
}

fn read(
    cluster: &EmbeddedCluster,
    place: &TopicPartition,
    from: Offset,
) -> Result<(Vec<Row>, Offset), String> {
    let (mut batch, next) = cluster.look(place, from).map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    while let Some(record) = batch.record(0, place.partition) {
        rows.push(Row {
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
        });
        batch.advance();
    }
    Ok((rows, next))
}
