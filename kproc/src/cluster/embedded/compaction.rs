//! Cleaning a log: deletion by retention, compaction by key. Offsets keep their gaps.
//!
//! Unlike Kafka's, a log here has no active segment that is spared: a cleaning takes in everything up to the last
//! stable offset.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    log::{Entry, Log, Visibility},
    topics::TopicConfig,
};
use crate::{
    batch::{Segment, SegmentRow},
    record::{Offset, Timestamp},
};

/// Cleans a log by its topic's settings. Returns what is gone, to be dropped without the lock.
pub(super) fn clean(log: &mut Log, config: &TopicConfig, wall: Timestamp) -> Vec<Entry> {
    let mut gone = Vec::new();
    if config.delete {
        expire(log, config, wall, &mut gone);
    }
    if config.compact {
        compact(log, config, wall, &mut gone);
    }
    gone
}

/// A way to clean a log.
pub(super) type Cleaning = fn(&mut Log, &TopicConfig, Timestamp) -> Vec<Entry>;

/// Cleans a log without regard to its retention.
#[cfg(test)]
pub(super) fn compact_only(log: &mut Log, config: &TopicConfig, wall: Timestamp) -> Vec<Entry> {
    let mut gone = Vec::new();
    if config.compact {
        compact(log, config, wall, &mut gone);
    }
    gone
}

/// Deletes the oldest entries, one by one, as long as they are too old or the rest is large enough.
fn expire(log: &mut Log, config: &TopicConfig, wall: Timestamp, gone: &mut Vec<Entry>) {
    let stable = log.stable();
    let mut bytes: u64 = log.entries.iter().map(Entry::bytes).sum();
    while let Some(first) = log.entries.front() {
        let old = config
            .retention
            .is_some_and(|retention| wall.since(first.latest) > retention);
        let large = config
            .retention_bytes
            .is_some_and(|most| bytes - first.bytes() >= most);
        if first.next > stable || !(old || large) {
            break;
        }
        bytes -= first.bytes();
        log.start = log.start.max(first.next);
        gone.extend(log.entries.pop_front());
    }
}

/// Keeps the last record of each key. Tombstones and markers go `delete.retention.ms` after the first cleaning that
/// met them, so that a reader that is not too slow sees them.
fn compact(log: &mut Log, config: &TopicConfig, wall: Timestamp, gone: &mut Vec<Entry>) {
    let stable = log.stable();
    let undecided = log.entries.partition_point(|entry| entry.next <= stable);
    let rest = log.entries.split_off(undecided);
    let old = std::mem::replace(&mut log.entries, rest);

    let mut last: BTreeMap<&[u8], Offset> = BTreeMap::new();
    for entry in old.iter().filter(|entry| entry.visibility == Visibility::All) {
        for row in &entry.segment.rows {
            if let Some(key) = entry.segment.key(row) {
                last.insert(key, row.offset);
            }
        }
    }
    let is_last = |segment: &Segment, row: &SegmentRow| {
        segment
            .key(row)
            .is_some_and(|key| last.get(key) == Some(&row.offset))
    };

    let mut kept = Vec::with_capacity(old.len());
    for entry in &old {
        let until = entry
            .passing_until
            .unwrap_or_else(|| wall.saturating_add(config.delete_retention));
        let passed = entry.passing_until.is_some() && wall >= until;
        let rows: Vec<&SegmentRow> = match entry.visibility {
            Visibility::Aborted => continue,
            Visibility::Marker if passed => continue,
            Visibility::Marker | Visibility::Open(_) => entry.segment.rows.iter().collect(),
            Visibility::All => {
                let stays =
                    |row: &&SegmentRow| is_last(&entry.segment, row) && !(passed && row.value.is_none());
                entry.segment.rows.iter().filter(stays).collect()
            }
        };
        if rows.is_empty() && entry.visibility != Visibility::Marker {
            continue;
        }
        let passing = entry.visibility == Visibility::Marker || rows.iter().any(|row| row.value.is_none());
        let mut new = entry.clone();
        new.passing_until = passing.then_some(until);
        if rows.len() < entry.segment.rows.len() {
            new.segment = Arc::new(entry.segment.copy_of(&rows));
        }
        kept.push(new);
    }
    gone.extend(old);
    for entry in kept.into_iter().rev() {
        log.entries.push_front(entry);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cluster::{Isolation, embedded::log::TxnNumber};

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn wall(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    /// Records of one-letter keys; `-` after the letter is a tombstone, else a value.
    fn segment(records: &[&str], timestamp: i64) -> Segment {
        let mut segment = Segment::default();
        for record in records {
            let start = segment.bytes.len() as u32;
            segment.bytes.extend_from_slice(record.as_bytes());
            let end = segment.bytes.len() as u32;
            segment.rows.push(SegmentRow {
                offset: Offset::ZERO,
                timestamp: Some(wall(timestamp)),
                key: Some(start..start + 1),
                value: (!record.ends_with('-')).then_some(start + 1..end),
                headers: 0..0,
            });
        }
        segment
    }

    fn compacted() -> TopicConfig {
        TopicConfig {
            compact: true,
            delete: false,
            delete_retention: Duration::from_secs(10),
            ..TopicConfig::default()
        }
    }

    /// What readers see: `offset:key value`, and the place after it.
    fn seen(log: &Log, from: u64) -> (Vec<String>, u64) {
        let (mut batch, next) = log
            .read(Offset::new(from), 1000, Isolation::ReadCommitted)
            .unwrap();
        let mut seen = vec![];
        while let Some(record) = batch.record(0, crate::Partition::new(0)) {
            let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap_or(b"-").to_vec()).unwrap();
            seen.push(format!(
                "{}:{}{}",
                record.offset,
                text(record.key),
                text(record.value)
            ));
            batch.advance();
        }
        (seen, next.get())
    }

    #[test]
    fn the_last_record_of_each_key_stays_where_it_was() {
        let mut log = Log::default();
        log.append(segment(&["a1", "b1", "a2"], 0), None, wall(0));
        log.append(segment(&["c1"], 0), None, wall(0));
        log.append(segment(&["c2", "a3"], 0), None, wall(0));
        clean(&mut log, &compacted(), wall(1));
        assert_eq!(
            seen(&log, 0),
            (vec!["1:b1".into(), "4:c2".into(), "5:a3".into()], 6)
        );
        // From inside a gap, too, and the ends are those of before.
        assert_eq!(seen(&log, 2), (vec!["4:c2".into(), "5:a3".into()], 6));
        assert_eq!((log.start, log.end), (Offset::ZERO, Offset::new(6)));
        assert_eq!(log.entries.len(), 2);
    }

    #[test]
    fn tombstones_stay_for_a_while_from_the_first_cleaning_on() {
        let mut log = Log::default();
        log.append(segment(&["a1", "b1"], 0), None, wall(0));
        log.append(segment(&["a-"], 0), None, wall(0));
        clean(&mut log, &compacted(), wall(1000));
        assert_eq!(seen(&log, 0).0, ["1:b1", "2:a-"]);
        clean(&mut log, &compacted(), wall(1009));
        assert_eq!(seen(&log, 0).0, ["1:b1", "2:a-"]);
        clean(&mut log, &compacted(), wall(1010));
        assert_eq!(seen(&log, 0), (vec!["1:b1".into()], 3));
    }

    #[test]
    fn a_key_that_comes_back_outlives_its_tombstone() {
        let mut log = Log::default();
        log.append(segment(&["a-"], 0), None, wall(0));
        clean(&mut log, &compacted(), wall(0));
        log.append(segment(&["a1"], 0), None, wall(5));
        clean(&mut log, &compacted(), wall(20));
        assert_eq!(seen(&log, 0).0, ["1:a1"]);
    }

    /// Scenario D05: the last offsets vanish, and a reader's position reaches the end all the same.
    #[test]
    fn d05_a_tail_of_markers_and_tombstones_vanishes() {
        let mut log = Log::default();
        log.append(segment(&["a1"], 0), Some(TxnNumber(1)), wall(0));
        log.settle(TxnNumber(1), true, wall(0));
        log.append(segment(&["a-"], 0), Some(TxnNumber(2)), wall(0));
        log.settle(TxnNumber(2), true, wall(0));
        clean(&mut log, &compacted(), wall(0));
        assert_eq!(log.entries.len(), 3);
        clean(&mut log, &compacted(), wall(10));
        assert_eq!((log.entries.len(), seen(&log, 0)), (0, (vec![], 4)));
    }

    #[test]
    fn what_is_undecided_is_neither_cleaned_nor_cleans() {
        let mut log = Log::default();
        log.append(segment(&["a1"], 0), None, wall(0));
        log.append(segment(&["a2"], 0), Some(TxnNumber(1)), wall(0));
        log.append(segment(&["a3"], 0), Some(TxnNumber(2)), wall(0));
        clean(&mut log, &compacted(), wall(0));
        assert_eq!(seen(&log, 0), (vec!["0:a1".into()], 1));
        log.settle(TxnNumber(1), false, wall(0));
        clean(&mut log, &compacted(), wall(0));
        assert_eq!(seen(&log, 0), (vec!["0:a1".into()], 2));
        log.settle(TxnNumber(2), true, wall(0));
        clean(&mut log, &compacted(), wall(0));
        assert_eq!(seen(&log, 0), (vec!["2:a3".into()], 5));
    }

    #[test]
    fn old_records_are_deleted_by_their_own_time() {
        let mut log = Log::default();
        log.append(segment(&["a1", "b1"], 0), None, wall(0));
        log.append(segment(&["c1"], 100), None, wall(0));
        log.append(segment(&["d1"], 0), None, wall(0));
        let config = TopicConfig {
            retention: Some(DAY),
            ..TopicConfig::default()
        };
        let day = DAY.as_secs() as i64;
        assert_eq!(clean(&mut log, &config, wall(day)).len(), 0);
        assert_eq!(clean(&mut log, &config, wall(day + 1)).len(), 1);
        // A younger record holds what comes after it.
        assert_eq!(seen(&log, 2).0, ["2:c1", "3:d1"]);
        assert!(log.read(Offset::ZERO, 1, Isolation::ReadCommitted).is_err());
        assert_eq!(clean(&mut log, &config, wall(day + 101)).len(), 2);
        assert_eq!((log.start, log.end), (Offset::new(4), Offset::new(4)));
    }

    #[test]
    fn large_logs_keep_at_least_their_retention_bytes() {
        let mut log = Log::default();
        for _ in 0..10 {
            log.append(segment(&["a1"], 0), None, wall(0));
        }
        let one = log.entries[0].bytes();
        let config = TopicConfig {
            retention: None,
            retention_bytes: Some(3 * one),
            ..TopicConfig::default()
        };
        assert_eq!(clean(&mut log, &config, wall(0)).len(), 7);
        assert_eq!(clean(&mut log, &config, wall(0)).len(), 0);
        assert_eq!(log.start, Offset::new(7));
    }
}
