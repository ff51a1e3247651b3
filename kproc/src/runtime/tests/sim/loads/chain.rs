//! Two processors over a topic between them: `number` numbers the words of each key and sends them on under another
//! key, so to another partition; `sum` adds them up.

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

const WORDS: Topic<String, i64> = Topic::new("words");
/// Under a group of words: the word, its number among those of its key, its value.
const STEPS: Topic<String, (String, i64, i64)> = Topic::new("steps");
/// Under a group: how many steps there were in this round, the sum of their values; the last one's word and value.
const SUMS: Topic<String, (i64, i64, String, i64)> = Topic::new("sums");

const NUMBERS: &str = "app-number-numbers-changelog";
const ROUNDS: &str = "app-sum-rounds-changelog";

const PARTITIONS: u32 = 4;
const KEYS: u64 = 3;
const GROUPS: i64 = 3;
/// After so many steps the sum of a group begins anew, and its state is deleted in between.
const ROUND: i64 = 7;

/// See the module.
pub(in super::super) struct Chain;

struct Number {
    numbers: Table<String, i64>,
    stand: Stand,
}

impl Processor for Number {
    fn name() -> Cow<'static, str> {
        "number".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&STEPS);
        to.store("numbers", StoreOptions::default(), &mut self.numbers);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        if let (Some(word), Some(value)) = record.decode(&WORDS)? {
            let number = self.numbers.get(word)?.unwrap_or_default() + 1;
            self.stand.pause().await;
            self.numbers.put(word, &number)?;
            ctx.send(&STEPS, &group_of(value), &(word, number, value))?;
        }
        self.stand.done("words", record);
        Ok(())
    }
}

struct Sum {
    rounds: Table<String, (i64, i64)>,
    stand: Stand,
}

impl Processor for Sum {
    fn name() -> Cow<'static, str> {
        "sum".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &STEPS, Start::Earliest);
        to.output(&SUMS);
        to.store("rounds", StoreOptions::default(), &mut self.rounds);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        if let (Some(group), Some((word, _, value))) = record.decode(&STEPS)? {
            let (count, sum) = self.rounds.get(group)?.unwrap_or_default();
            let (count, sum) = (count + 1, sum + value);
            self.stand.pause().await;
            if count == ROUND {
                self.rounds.delete(group)?;
            } else {
                self.rounds.put(group, &(count, sum))?;
            }
            ctx.send(&SUMS, group, &(count, sum, word, value))?;
        }
        self.stand.done("steps", record);
        Ok(())
    }
}

fn group_of(value: i64) -> String {
    format!("g{}", value % GROUPS)
}

impl Workload for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn topics(&self) -> &'static [(&'static str, u32)] {
        &[("words", PARTITIONS), ("steps", 3), ("sums", 2)]
    }

    /// The values of a key are all different.
    fn input(&self, chance: &mut Chance) -> Vec<Write> {
        let mut at = Duration::ZERO;
        let mut all = Vec::new();
        for round in 0..40 {
            for partition in 0..PARTITIONS {
                let key = format!("p{partition}k{}", chance.below(KEYS));
                let value = round * 10 + chance.below(10) as i64;
                let timestamp = Timestamp::from_millis(round);
                all.push(Write::number(("words", partition), at, timestamp, &key, value));
            }
            at += chance.time(Duration::from_millis(120));
        }
        all
    }

    fn factories(&self, stand: &Stand) -> Vec<Factory> {
        let (first, second) = (stand.clone(), stand.clone());
        vec![
            factory(move || Number {
                numbers: Table::default(),
                stand: first.clone(),
            }),
            factory(move || Sum {
                rounds: Table::default(),
                stand: second.clone(),
            }),
        ]
    }

    fn judge(&self, mode: Mode, input: &[Write]) -> Box<dyn Judge> {
        let mut numbers: BTreeMap<String, i64> = BTreeMap::new();
        let mut steps: BTreeMap<(String, String), Vec<(i64, i64)>> = BTreeMap::new();
        for write in input {
            let number = numbers.entry(write.key()).or_default();
            *number += 1;
            let place = (group_of(write.value()), write.key());
            // Counted again, they have other numbers.
            let number = if mode == Mode::ExactlyOnce { *number } else { 0 };
            steps.entry(place).or_default().push((number, write.value()));
        }
        let steps = steps.into_iter();
        Box::new(Model {
            mode,
            numbers,
            steps: steps.map(|(place, due)| (place, Order::of(mode, due))).collect(),
            sums: (0..GROUPS)
                .map(|group| (group_of(group), Order::growing(mode)))
                .collect(),
        })
    }
}

/// What must come of it.
struct Model {
    mode: Mode,
    /// How often each word comes.
    numbers: BTreeMap<String, i64>,
    /// By group and word: number and value.
    steps: BTreeMap<(String, String), Order<(i64, i64)>>,
    /// By group, as it follows from the steps that can be read.
    sums: BTreeMap<String, Order<Summed>>,
}

/// Count, sum, word, value.
type Summed = (i64, i64, String, i64);

impl Model {
    fn step(&mut self, group: &str, (word, number, value): (&str, i64, i64)) -> Verdict {
        let place = (group.to_owned(), word.to_owned());
        let due = self.steps.get_mut(&place);
        let due = due.ok_or_else(|| format!("a step of {word} in {group}, which follows from nothing"))?;
        let exactly_once = self.mode == Mode::ExactlyOnce;
        let number = if exactly_once { number } else { 0 };
        due.read((number, value))
            .of(|| format!("steps of {word} in {group}"))?;
        let sums = self.sums.entry(group.to_owned());
        let sums = sums.or_insert_with(|| Order::growing(self.mode));
        let (count, sum) = match sums.last() {
            _ if !exactly_once => (-1, -value),
            Some(last) if last.0 < ROUND => (last.0, last.1),
            _ => (0, 0),
        };
        let due = (count + 1, sum + value, word.to_owned(), value);
        sums.add(due).of(|| format!("sums of {group}"))
    }

    fn sum(&mut self, group: &str, (count, sum, word, value): (i64, i64, &str, i64)) -> Verdict {
        let sums = self.sums.get_mut(group);
        let sums = sums.ok_or_else(|| format!("a sum of {group}, which is no group"))?;
        let exactly_once = self.mode == Mode::ExactlyOnce;
        let (count, sum) = if exactly_once { (count, sum) } else { (0, 0) };
        sums.read((count, sum, word.to_owned(), value))
            .of(|| format!("sums of {group}"))
    }
}

impl Judge for Model {
    fn seen(&mut self, seen: &Seen<'_>) -> Verdict {
        match &*seen.place.topic {
            "steps" => {
                let (group, step) = decoded(&STEPS, seen)?;
                self.step(group, step)
            }
            "sums" => {
                let (group, sum) = decoded(&SUMS, seen)?;
                self.sum(group, sum)
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, end: &End<'_>) -> Verdict {
        for ((group, word), steps) in &self.steps {
            steps.end().of(|| format!("steps of {word} in {group}"))?;
        }
        for (group, sums) in &self.sums {
            sums.end().of(|| format!("sums of {group}"))?;
        }
        let numbers = table::<String, i64>(end, NUMBERS)?;
        if self.mode == Mode::AtLeastOnce {
            return end.at_least("the numbers kept", &self.numbers, &numbers);
        }
        same("the numbers kept", &self.numbers, &numbers)?;
        let open = self.sums.iter().filter_map(|(group, sums)| {
            let last = sums.last().filter(|last| last.0 < ROUND)?;
            Some((group.clone(), (last.0, last.1)))
        });
        same(
            "the rounds kept",
            &open.collect(),
            &table::<String, (i64, i64)>(end, ROUNDS)?,
        )
    }
}
