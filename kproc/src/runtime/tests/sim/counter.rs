//! The simplest workload: counts the records of each key, and sends each new count.
//!
//! Each record of a key has a number, and what is sent and kept names the last one that was counted; so it is known of
//! each output which input it answers. Exactly once, a key is forgotten when it has come to [`FORGET_AT`], and begins
//! again: deletions are part of it.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use super::{
    chance::Chance,
    workload::{End, Judge, Mode, Seen, Stand, Verdict, Workload, Write},
};
use crate::{
    Context, Offset, Processor, Record, Result, Table, Timestamp, Topic, TopicPartition,
    engine::{Factory, factory},
    processor::{Declare, Start, StoreOptions},
};

const WORDS: Topic<String, i64> = Topic::new("words");
const COUNTS: Topic<String, String> = Topic::new("counts");
const CHANGELOG: &str = "app-counter-totals-changelog";

const PARTITIONS: u32 = 4;
const KEYS: u64 = 4;
const FORGET_AT: i64 = 3;

/// See the module.
pub(super) struct Counter;

impl Workload for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn topics(&self) -> &'static [(&'static str, u32)] {
        &[("words", PARTITIONS), ("counts", PARTITIONS)]
    }

    fn input(&self, chance: &mut Chance) -> Vec<Write> {
        let mut numbers: BTreeMap<String, i64> = BTreeMap::new();
        let mut at = Duration::ZERO;
        let mut input = Vec::new();
        while input.len() < 200 {
            // Bursts, so that there are batches of several records, and transactions of several tasks.
            for _ in 0..=chance.below(12) {
                let partition = chance.below(u64::from(PARTITIONS)) as u32;
                let key = format!("p{partition}k{}", chance.below(KEYS));
                let number = numbers.entry(key.clone()).or_default();
                let timestamp = Timestamp::from_millis(at.as_millis() as i64);
                input.push(Write::number(("words", partition), at, timestamp, &key, *number));
                *number += 1;
            }
            at += chance.time(Duration::from_millis(200));
        }
        input
    }

    fn factories(&self, stand: &Stand) -> Vec<Factory> {
        let stand = stand.clone();
        vec![factory(move || Count {
            totals: Table::default(),
            stand: stand.clone(),
        })]
    }

    fn judge(&self, mode: Mode, input: &[Write]) -> Box<dyn Judge> {
        let (mut due, mut ends) = (BTreeMap::new(), BTreeMap::<u32, u64>::new());
        let mut offsets = BTreeMap::<String, Vec<Offset>>::new();
        for write in input {
            *due.entry(write.key()).or_default() += 1;
            let end = ends.entry(write.partition).or_default();
            offsets.entry(write.key()).or_default().push(Offset::new(*end));
            *end += 1;
        }
        Box::new(Model {
            mode,
            due,
            offsets,
            sent: BTreeMap::new(),
            kept: BTreeMap::new(),
        })
    }
}

/// The count after the record of this number.
fn count_at(number: i64) -> i64 {
    number % FORGET_AT + 1
}

struct Count {
    totals: Table<String, String>,
    stand: Stand,
}

impl Processor for Count {
    fn name() -> Cow<'static, str> {
        "counter".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&COUNTS);
        to.store("totals", StoreOptions::default(), &mut self.totals);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        let (_, Some(number)) = record.decode(&WORDS)? else {
            return Ok(());
        };
        let before = self.totals.get(key)?.map_or(0, |total| parse(total).0);
        let count = before + 1;
        self.stand.pause().await;
        let total = format!("{count} {number}");
        if self.stand.mode == Mode::ExactlyOnce && count == FORGET_AT {
            self.totals.delete(key)?;
        } else {
            self.totals.put(key, &total)?;
        }
        ctx.send(&COUNTS, key, &total)?;
        self.stand.done("words", record);
        Ok(())
    }
}

/// A count, and the number of the record that it counted last.
fn parse(total: &str) -> (i64, i64) {
    let (count, number) = total.split_once(' ').unwrap();
    (count.parse().unwrap(), number.parse().unwrap())
}

struct Model {
    mode: Mode,
    /// How many records of each key there are.
    due: BTreeMap<String, i64>,
    /// Where the records of each key are.
    offsets: BTreeMap<String, Vec<Offset>>,
    /// Of each key, how often each number was answered.
    sent: BTreeMap<String, Vec<u32>>,
    /// Of each key, the least number that its next changelog record can have.
    kept: BTreeMap<String, i64>,
}

impl Judge for Model {
    fn seen(&mut self, seen: &Seen<'_>) -> Verdict {
        let key = text(seen.key);
        let value = seen.value.map(|value| text(Some(value)));
        match &*seen.place.topic {
            "counts" => self.sent(&key, value.as_deref()),
            CHANGELOG if self.mode == Mode::ExactlyOnce => self.kept(key, value.as_deref()),
            CHANGELOG => self.kept_after_all(&key, value.as_deref(), seen),
            _ => Ok(()),
        }
    }

    fn end(&mut self, end: &End<'_>) -> Verdict {
        for (key, due) in &self.due {
            let sent = self.sent.get(key).map_or(&[][..], Vec::as_slice);
            if let Some(number) =
                (0..*due).find(|number| sent.get(*number as usize).is_none_or(|times| *times == 0))
            {
                return Err(format!("{key}: record {number} of {due} has no answer"));
            }
            let mut tables = end.tables.iter().filter(|(place, _)| &*place.topic == CHANGELOG);
            let kept = tables.find_map(|(_, rows)| rows.get(key.as_bytes()));
            let kept = kept.map(|total| text(Some(total)));
            let is_right = match self.mode {
                Mode::ExactlyOnce if due % FORGET_AT == 0 => kept.is_none(),
                Mode::ExactlyOnce => kept.as_deref().map(parse) == Some((count_at(due - 1), due - 1)),
                Mode::AtLeastOnce => {
                    end.had_late_records || kept.as_deref().map(parse).is_some_and(|(count, _)| count >= *due)
                }
            };
            if !is_right {
                return Err(format!("{key}: {due} records have come to {kept:?}"));
            }
        }
        Ok(())
    }
}

impl Model {
    fn sent(&mut self, key: &str, value: Option<&str>) -> Verdict {
        let Some((count, number)) = value.map(parse) else {
            return Err(format!("{key}: an answer is null"));
        };
        if number >= self.due.get(key).copied().unwrap_or_default() {
            return Err(format!("{key}: an answer to record {number}, which there is not"));
        }
        let times = self.sent.entry(key.to_owned()).or_default();
        if self.mode == Mode::ExactlyOnce {
            if number != times.len() as i64 {
                return Err(format!(
                    "{key}: after {} answers comes one to record {number}",
                    times.len()
                ));
            }
            if count != count_at(number) {
                return Err(format!("{key}: record {number} made it {count}"));
            }
        }
        times.resize(times.len().max(number as usize + 1), 0);
        times[number as usize] += 1;
        Ok(())
    }

    /// At least once: nothing older is written over what is committed, for nobody would count again what came between.
    fn kept_after_all(&self, key: &str, value: Option<&str>, seen: &Seen<'_>) -> Verdict {
        let Some((_, number)) = value.map(parse).filter(|_| !seen.may_be_late) else {
            return Ok(());
        };
        let words = TopicPartition::new(WORDS.name(), seen.place.partition);
        let committed = seen.committed.get(&words).copied().unwrap_or(Offset::ZERO);
        let next = self.offsets.get(key).and_then(|all| all.get(number as usize + 1));
        if next.is_some_and(|next| *next < committed) {
            return Err(format!(
                "{key}: {value:?} is kept, although the record after that is committed"
            ));
        }
        Ok(())
    }

    fn kept(&mut self, key: String, value: Option<&str>) -> Verdict {
        let least = self.kept.get(&key).copied().unwrap_or_default();
        let number = match value.map(parse) {
            Some((count, number)) if number >= least && count == count_at(number) => number,
            // A deletion does not say which one it is: the first that there could be.
            None => least + (FORGET_AT - 1 - least % FORGET_AT),
            _ => return Err(format!("{key}: {value:?} is kept after record {least}")),
        };
        self.kept.insert(key, number + 1);
        Ok(())
    }
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}
