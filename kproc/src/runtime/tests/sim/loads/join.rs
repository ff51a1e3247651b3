//! Two inputs with the same keys: the first record of a key on one side meets the first on the other, the second the
//! second, and so on. Who comes first waits in the state.
//!
//! In which order the two sides come is left to chance, and may be another one when it is done again. Who meets whom
//! is not.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use super::{
    super::{
        chance::Chance,
        workload::{End, Judge, Mode, Seen, Stand, Verdict, Workload, Write},
    },
    decoded,
    order::{Of, Order},
    same, table,
};
use crate::{
    Context, Processor, Record, Result, Table, Timestamp, Topic,
    engine::{Factory, factory},
    processor::{Declare, Start, StoreOptions},
};

const LEFT: Topic<String, i64> = Topic::new("left");
const RIGHT: Topic<String, i64> = Topic::new("right");
/// A left and a right one.
const PAIRS: Topic<String, (i64, i64)> = Topic::new("pairs");
const WAITING: &str = "app-join-waiting-changelog";

const PARTITIONS: u32 = 3;
const KEYS: u64 = 3;

/// See the module.
pub(in super::super) struct Join;

struct Joiner {
    /// By key, side and offset.
    waiting: Table<(String, u8, u64), i64>,
    stand: Stand,
}

impl Processor for Joiner {
    fn name() -> Cow<'static, str> {
        "join".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &LEFT, Start::Earliest);
        to.input(1, &RIGHT, Start::Earliest);
        to.output(&PAIRS);
        to.store("waiting", StoreOptions::default(), &mut self.waiting);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let (side, topic) = match record.input {
            0 => (0, LEFT),
            _ => (1, RIGHT),
        };
        if let (Some(key), Some(value)) = record.decode(&topic)? {
            self.stand.pause().await;
            let first = self.waiting.prefix(&(key, 1 - side)).next().transpose()?;
            if let Some(((_, _, offset), other)) = first {
                let pair = if side == 0 { (value, other) } else { (other, value) };
                ctx.send(&PAIRS, key, &pair)?;
                self.waiting.delete(&(key, 1 - side, offset))?;
            } else {
                self.waiting.put(&(key, side, record.offset.get()), &value)?;
            }
        }
        self.stand.done(SIDES[usize::from(side)], record);
        Ok(())
    }
}

const SIDES: [&str; 2] = ["left", "right"];

impl Workload for Join {
    fn name(&self) -> &'static str {
        "join"
    }

    fn topics(&self) -> &'static [(&'static str, u32)] {
        &[("left", PARTITIONS), ("right", PARTITIONS), ("pairs", PARTITIONS)]
    }

    /// Each side by itself, so that sometimes many wait, on this side or that. The values of a side are all different.
    fn input(&self, chance: &mut Chance) -> Vec<Write> {
        let mut at = Duration::ZERO;
        let mut all = Vec::new();
        for round in 0..40 {
            for partition in 0..PARTITIONS {
                for topic in SIDES {
                    if chance.one_in(8) {
                        continue;
                    }
                    let key = format!("p{partition}k{}", chance.below(KEYS));
                    let timestamp = Timestamp::from_millis(round + chance.below(4) as i64);
                    all.push(Write::number((topic, partition), at, timestamp, &key, round));
                }
            }
            at += chance.time(Duration::from_millis(120));
        }
        all
    }

    fn factories(&self, stand: &Stand) -> Vec<Factory> {
        let stand = stand.clone();
        vec![factory(move || Joiner {
            waiting: Table::default(),
            stand: stand.clone(),
        })]
    }

    fn judge(&self, mode: Mode, input: &[Write]) -> Box<dyn Judge> {
        let mut sides: BTreeMap<String, [Vec<i64>; 2]> = BTreeMap::new();
        for write in input {
            let side = usize::from(write.topic == "right");
            sides.entry(write.key()).or_default()[side].push(write.value());
        }
        let pairs = |[lefts, rights]: &[Vec<i64>; 2]| -> Vec<_> {
            lefts.iter().copied().zip(rights.iter().copied()).collect()
        };
        Box::new(Model {
            mode,
            pairs: sides
                .iter()
                .map(|(key, sides)| (key.clone(), Order::of(Mode::ExactlyOnce, pairs(sides))))
                .collect(),
            met: BTreeMap::new(),
            sides,
        })
    }
}

/// What must come of it.
struct Model {
    mode: Mode,
    /// What comes on each side, by key.
    sides: BTreeMap<String, [Vec<i64>; 2]>,
    /// Exactly once: the pairs, by key.
    pairs: BTreeMap<String, Order<(i64, i64)>>,
    /// The pairs that were read.
    met: BTreeMap<String, Vec<(i64, i64)>>,
}

impl Judge for Model {
    fn seen(&mut self, seen: &Seen<'_>) -> Verdict {
        if *seen.place.topic != *PAIRS.name() {
            return Ok(());
        }
        let (key, pair) = decoded(&PAIRS, seen)?;
        self.met.entry(key.to_owned()).or_default().push(pair);
        match self.pairs.get_mut(key) {
            None => Err(format!("a pair of {key}, which has none")),
            Some(pairs) if self.mode == Mode::ExactlyOnce => {
                pairs.read(pair).of(|| format!("pairs of {key}"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Exactly once: who is in no pair waits, and nobody else does. At least once, one who comes again waits for another
    /// one; but nobody has gone away.
    fn end(&mut self, end: &End<'_>) -> Verdict {
        let mut waiting: BTreeMap<String, [Vec<i64>; 2]> = BTreeMap::new();
        for ((key, side, _), value) in table::<(String, u8, u64), i64>(end, WAITING)? {
            waiting.entry(key).or_default()[usize::from(side)].push(value);
        }
        for (key, sides) in &self.sides {
            let met = self.met.remove(key).unwrap_or_default();
            let waiting = waiting.remove(key).unwrap_or_default();
            let met = [
                met.iter().map(|pair| pair.0).collect::<Vec<_>>(),
                met.iter().map(|pair| pair.1).collect(),
            ];
            for side in [0, 1] {
                let there = [&met[side][..], &waiting[side]].concat();
                let what = format!("all of {key} on the side {}", SIDES[side]);
                if self.mode == Mode::ExactlyOnce {
                    same(&what, &sides[side], &there)?;
                } else if let Some(lost) = sides[side].iter().find(|value| !there.contains(value)) {
                    return Err(format!("{what}: {lost} is lost"));
                }
            }
        }
        same("keys of which nothing was written", &BTreeMap::new(), &waiting)
    }
}
