//! A log against the plainest model of one: random writing, deciding, cleaning and deleting, and after each step all
//! that any reader can see, from everywhere.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{
    Offset, Partition, Timestamp,
    batch::{Segment, SegmentRow},
    cluster::{
        Isolation,
        embedded::{
            compaction::clean,
            log::{Log, TxnNumber},
            topics::TopicConfig,
        },
    },
};

#[derive(Debug, Clone)]
enum Step {
    /// Writes records of these keys, plainly or in one of three transactions.
    Write(Option<u64>, Vec<u8>),
    /// Commits or aborts one of the three.
    Settle(u64, bool),
    Compact,
    /// Deletes the records before this share of the log.
    Delete(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (proptest::option::of(0..3_u64), proptest::collection::vec(0..4_u8, 1..5))
            .prop_map(|(txn, keys)| Step::Write(txn, keys)),
        3 => (0..3_u64, any::<bool>()).prop_map(|(txn, commit)| Step::Settle(txn, commit)),
        1 => Just(Step::Compact),
        1 => (0..8_u8).prop_map(Step::Delete),
    ];
    proptest::collection::vec(step, 1..40)
}

/// What is at an offset.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Record {
        key: u8,
        fate: Fate,
    },
    /// A marker, or what cleaning has taken.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Plain,
    Open(u64),
    Aborted,
}

#[derive(Default)]
struct Model {
    places: Vec<Place>,
    start: usize,
}

impl Model {
    fn stable(&self) -> usize {
        let open = |place: &Place| {
            matches!(
                place,
                Place::Record {
                    fate: Fate::Open(_),
                    ..
                }
            )
        };
        self.places
            .iter()
            .position(open)
            .unwrap_or(self.places.len())
            .max(self.start)
    }

    fn settle(&mut self, txn: u64, committed: bool) {
        let mut any = false;
        for place in &mut self.places {
            if let Place::Record { fate, .. } = place
                && *fate == Fate::Open(txn)
            {
                *fate = if committed { Fate::Plain } else { Fate::Aborted };
                any = true;
            }
        }
        if any {
            self.places.push(Place::Nothing);
        }
    }

    fn compact(&mut self) {
        let stable = self.stable();
        let mut last = BTreeMap::new();
        for (offset, place) in self.places[..stable].iter().enumerate().skip(self.start) {
            if let Place::Record {
                key,
                fate: Fate::Plain,
            } = place
            {
                last.insert(*key, offset);
            }
        }
        for (offset, place) in self.places[..stable].iter_mut().enumerate() {
            let Place::Record { key, .. } = *place else {
                continue;
            };
            if last.get(&key) != Some(&offset) {
                *place = Place::Nothing;
            }
        }
    }

    /// The offsets that a reader sees, and where it reads on.
    fn read(&self, from: usize, max: usize, isolation: Isolation) -> Option<(Vec<usize>, usize)> {
        if !(self.start..=self.places.len()).contains(&from) {
            return None;
        }
        let committed = isolation == Isolation::ReadCommitted;
        let limit = if committed {
            self.stable()
        } else {
            self.places.len()
        };
        let mut seen = vec![];
        for offset in from..limit {
            let visible = match self.places[offset] {
                Place::Record {
                    fate: Fate::Aborted, ..
                } => !committed,
                Place::Record { .. } => true,
                Place::Nothing => false,
            };
            if visible && seen.len() == max {
                // A full batch ends before the next record that is seen.
                return Some((seen, offset));
            }
            if visible {
                seen.push(offset);
            }
        }
        Some((seen, limit.max(from)))
    }
}

fn segment(keys: &[u8]) -> Segment {
    let row = |(place, _)| SegmentRow {
        offset: Offset::ZERO,
        timestamp: None,
        key: Some(place..place + 1),
        value: Some(place..place + 1),
        headers: 0..0,
    };
    Segment {
        bytes: keys.to_vec(),
        rows: (0..).zip(keys).map(row).collect(),
    }
}

fn read(log: &Log, from: usize, max: usize, isolation: Isolation) -> Option<(Vec<(usize, u8)>, usize)> {
    let (mut batch, next) = log.read(Offset::new(from as u64), max, isolation).ok()?;
    let mut seen = vec![];
    while let Some(record) = batch.record(0, Partition::new(0)) {
        seen.push((record.offset.get() as usize, record.key.unwrap()[0]));
        batch.advance();
    }
    Some((seen, next.get() as usize))
}

fn check(log: &Log, model: &Model) -> Result<(), TestCaseError> {
    let marks = log.watermarks();
    let expected = (model.start, model.stable(), model.places.len());
    let found = (marks.earliest.get(), marks.stable.get(), marks.latest.get());
    prop_assert_eq!((found.0 as usize, found.1 as usize, found.2 as usize), expected);
    for isolation in [Isolation::ReadCommitted, Isolation::ReadUncommitted] {
        for from in 0..=model.places.len() + 1 {
            for max in [1, 3, 1000] {
                let expected = model.read(from, max, isolation);
                let found = read(log, from, max, isolation);
                let offsets = found
                    .clone()
                    .map(|(seen, next)| (seen.iter().map(|it| it.0).collect(), next));
                // Where to read on after a full batch is open as far as nothing is passed that is seen.
                match (offsets, expected) {
                    (Some((seen, next)), Some((wanted, furthest))) => {
                        let seen: Vec<usize> = seen;
                        prop_assert_eq!(&seen, &wanted, "from {} max {} {:?}", from, max, isolation);
                        let least = seen.last().map_or(from, |last| last + 1);
                        prop_assert!((least..=furthest).contains(&next), "{next} from {from} max {max}");
                        prop_assert!(seen.len() == max || next == furthest, "{next} is not {furthest}");
                    }
                    (found, expected) => prop_assert_eq!(found, expected, "from {} {:?}", from, isolation),
                }
                for (offset, key) in found.into_iter().flat_map(|(seen, _)| seen) {
                    let of_model = match model.places[offset] {
                        Place::Record { key, .. } => Some(key),
                        Place::Nothing => None,
                    };
                    prop_assert_eq!(Some(key), of_model);
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_log_shows_what_its_model_shows(steps in steps()) {
        let config = TopicConfig { compact: true, delete: false, ..TopicConfig::default() };
        let (mut log, mut model) = (Log::default(), Model::default());
        let wall = Timestamp::EPOCH;
        for step in steps {
            match step {
                Step::Write(txn, keys) => {
                    log.append(segment(&keys), txn.map(TxnNumber), wall);
                    let fate = txn.map_or(Fate::Plain, Fate::Open);
                    model.places.extend(keys.iter().map(|key| Place::Record { key: *key, fate }));
                }
                Step::Settle(txn, committed) => {
                    log.settle(TxnNumber(txn), committed, wall);
                    model.settle(txn, committed);
                }
                Step::Compact => {
                    clean(&mut log, &config, wall);
                    model.compact();
                }
                Step::Delete(eighths) => {
                    // Never what is undecided.
                    let before = (model.places.len() * usize::from(eighths) / 8).min(model.stable());
                    log.delete_before(Offset::new(before as u64)).unwrap();
                    model.start = model.start.max(before);
                }
            }
            check(&log, &model)?;
        }
    }
}
