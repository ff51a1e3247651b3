//! All kinds of records and stores: null and empty keys and values, large ones, records that fail and are skipped; two
//! processors that read the same input, with several stores, one of which has no changelog; commits by request.
//!
//! Everything is said again in the partition that it came from, so the whole of what is said has an order.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use super::{
    super::{
        chance::Chance,
        workload::{End, Judge, Mode, Seen, Stand, Verdict, Workload, Write},
    },
    entries,
    order::{Of, Order},
    same,
};
use crate::{
    Context, Error, Null, Partition, Policy, Processor, Record, Result, Table, Timestamp, Topic,
    engine::{Factory, factory},
    processor::{Declare, Start, StoreOptions},
    runtime::Settings,
};

const THINGS: Topic<Vec<u8>, Vec<u8>> = Topic::new("things");
/// Key and value as they came.
const ECHOES: Topic<Vec<u8>, Vec<u8>> = Topic::new("echoes");
/// Offset; how many of the key there were; the offset of the one before, if that is known.
const NOTES: Topic<(), (u64, i64, Option<u64>)> = Topic::new("notes");

const COUNTS: &str = "app-teller-counts-changelog";
const LAST: &str = "app-teller-last-changelog";

const PARTITIONS: u32 = 3;
/// Values that begin so fail in the one or the other processor.
const FAILS: [&[u8]; 2] = [b"bad", b"worse"];

/// See the module.
pub(in super::super) struct Mixed;

/// What comes as a key or a value.
type Bytes = Option<Vec<u8>>;

/// Sends a record on as it is.
fn say_again(ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
    let partition = record.partition;
    let message = match (record.key, record.value) {
        (Some(key), Some(value)) => ctx.message(&ECHOES, key, value),
        (Some(key), None) => ctx.message(&ECHOES, key, Null),
        (None, Some(value)) => ctx.message(&ECHOES, Null, value),
        (None, None) => ctx.message(&ECHOES, Null, Null),
    };
    message.partition(partition).send()?;
    Ok(())
}

fn fails(record: &Record<'_>, in_which: usize) -> Result<()> {
    match record.value {
        Some(value) if value.starts_with(FAILS[in_which]) => Err(Error::msg("it is told to fail")),
        _ => Ok(()),
    }
}

struct Teller {
    /// How often each key came.
    counts: Table<Option<Vec<u8>>, i64>,
    /// The last value of each key that was not null.
    last: Table<Option<Vec<u8>>, Vec<u8>>,
    /// The last offset. Has no changelog.
    before: Table<u8, u64>,
    stand: Stand,
}

impl Processor for Teller {
    fn name() -> Cow<'static, str> {
        "teller".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &THINGS, Start::Earliest);
        to.output(&ECHOES);
        to.output(&NOTES);
        to.store("counts", StoreOptions::default(), &mut self.counts);
        to.store("before", StoreOptions { changelog: false }, &mut self.before);
        to.store("last", StoreOptions::default(), &mut self.last);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let count = self.counts.get(&record.key)?.unwrap_or_default() + 1;
        self.counts.put(&record.key, &count)?;
        match record.value {
            Some(value) => self.last.put(&record.key, value)?,
            None => self.last.delete(&record.key)?,
        }
        let before = self.before.get(&0)?;
        self.before.put(&0, &record.offset.get())?;
        say_again(ctx, record)?;
        self.stand.pause().await;
        let note = (record.offset.get(), count, before);
        ctx.message(&NOTES, Null, &note)
            .partition(record.partition)
            .send()?;
        if count % 5 == 0 {
            ctx.commit();
        }
        if let Err(error) = fails(record, 0) {
            self.stand.done("things", record);
            return Err(error);
        }
        Ok(())
    }
}

/// Comes after the other one.
struct Echo {
    stand: Stand,
}

impl Processor for Echo {
    fn name() -> Cow<'static, str> {
        "echo".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &THINGS, Start::Earliest);
        to.output(&ECHOES);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let offset = record.offset.to_string();
        ctx.message(&ECHOES, Null, offset.as_bytes())
            .partition(record.partition)
            .send()?;
        self.stand.pause().await;
        self.stand.done("things", record);
        fails(record, 1)
    }
}

impl Workload for Mixed {
    fn name(&self) -> &'static str {
        "mixed"
    }

    fn topics(&self) -> &'static [(&'static str, u32)] {
        &[
            ("things", PARTITIONS),
            ("echoes", PARTITIONS),
            ("notes", PARTITIONS),
        ]
    }

    /// So little memory that tasks now and then have to commit because of what they hold.
    fn settings(&self, settings: &mut Settings) {
        settings.task.policies.processing = Policy::Skip;
        settings.memory = 256 << 10;
    }

    fn input(&self, chance: &mut Chance) -> Vec<Write> {
        let mut at = Duration::ZERO;
        let mut all = Vec::new();
        for round in 0..120 {
            let key: Bytes = match chance.below(6) {
                0 => None,
                1 => Some(Vec::new()),
                2 => Some(vec![0]),
                other => Some(format!("k{other}").into()),
            };
            let value: Bytes = match chance.below(12) {
                0 | 1 => None,
                2 => Some(Vec::new()),
                3 => Some(vec![0, 0]),
                4 => Some(format!("bad {round}").into()),
                5 => Some(format!("worse {round}").into()),
                6..9 => Some(format!("{round} ").repeat(chance.below(2000) as usize).into()),
                _ => Some(format!("v{round}").into()),
            };
            all.push(Write {
                at,
                topic: "things",
                partition: chance.below(u64::from(PARTITIONS)) as u32,
                timestamp: Timestamp::from_millis(chance.below(4) as i64 * round),
                key,
                value,
            });
            if chance.one_in(3) {
                at += chance.time(Duration::from_millis(100));
            }
        }
        all
    }

    fn factories(&self, stand: &Stand) -> Vec<Factory> {
        let (first, second) = (stand.clone(), stand.clone());
        vec![
            factory(move || Teller {
                counts: Table::default(),
                last: Table::default(),
                before: Table::default(),
                stand: first.clone(),
            }),
            factory(move || Echo {
                stand: second.clone(),
            }),
        ]
    }

    fn judge(&self, mode: Mode, input: &[Write]) -> Box<dyn Judge> {
        let mut model = Model {
            mode,
            ..Model::default()
        };
        for partition in 0..PARTITIONS {
            let all = input.iter().filter(|write| write.partition == partition);
            model.take(Partition::new(partition), all);
        }
        Box::new(model)
    }
}

/// A record of the topic of echoes: timestamp, key, value.
type Said = (Option<Timestamp>, Bytes, Bytes);

/// What must come of it.
#[derive(Default)]
struct Model {
    mode: Mode,
    said: BTreeMap<Partition, Order<Said>>,
    /// By offset: the count.
    notes: BTreeMap<Partition, Order<(u64, i64)>>,
    counts: BTreeMap<(Partition, Bytes), i64>,
    last: BTreeMap<(Partition, Bytes), Vec<u8>>,
}

impl Model {
    /// All records of a partition.
    fn take<'w>(&mut self, partition: Partition, all: impl Iterator<Item = &'w Write>) {
        let (mut said, mut notes) = (Vec::new(), Vec::new());
        for (offset, write) in (0..).zip(all) {
            let is_bad = |value: &Vec<u8>| FAILS.iter().any(|bad| value.starts_with(bad));
            if write.value.as_ref().is_some_and(is_bad) {
                continue;
            }
            let timestamp = Some(write.timestamp);
            said.push((timestamp, write.key.clone(), write.value.clone()));
            said.push((timestamp, None, Some(u64::to_string(&offset).into())));
            let place = (partition, write.key.clone());
            let count = self.counts.entry(place.clone()).or_default();
            *count += 1;
            let count = *count;
            notes.push((offset, self.counted(count)));
            match &write.value {
                Some(value) => drop(self.last.insert(place, value.clone())),
                None => drop(self.last.remove(&place)),
            }
        }
        self.said.insert(partition, Order::of(self.mode, said));
        self.notes.insert(partition, Order::of(self.mode, notes));
    }

    /// At least once, nobody knows how often something is counted.
    fn counted(&self, count: i64) -> i64 {
        if self.mode == Mode::ExactlyOnce { count } else { 0 }
    }

    fn noted(&mut self, partition: Partition, (offset, count, before): (u64, i64, Option<u64>)) -> Verdict {
        if before.is_some_and(|before| before >= offset) && self.mode == Mode::ExactlyOnce {
            return Err(format!(
                "what was before {offset} is {before:?}, which was not committed"
            ));
        }
        let count = self.counted(count);
        let notes = self.notes.get_mut(&partition);
        notes.map_or(Ok(()), |notes| notes.read((offset, count)))
    }
}

impl Judge for Model {
    fn seen(&mut self, seen: &Seen<'_>) -> Verdict {
        let partition = seen.place.partition;
        match &*seen.place.topic {
            "echoes" => {
                let said = (
                    seen.timestamp,
                    seen.key.map(<[u8]>::to_vec),
                    seen.value.map(<[u8]>::to_vec),
                );
                let all = self.said.get_mut(&partition);
                all.map_or(Ok(()), |all| all.read(said))
            }
            "notes" => {
                let note = seen.value.unwrap_or_default();
                let note = <(u64, i64, Option<u64>) as kproc_store::codec::Codec>::decode(note);
                self.noted(partition, note.map_err(|error| error.to_string())?)
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, end: &End<'_>) -> Verdict {
        for (partition, said) in &self.said {
            said.end().of(|| format!("echoes in partition {partition}"))?;
        }
        for (partition, notes) in &self.notes {
            notes.end().of(|| format!("notes in partition {partition}"))?;
        }
        let counts = entries::<Option<Vec<u8>>, i64>(end, COUNTS)?;
        if self.mode == Mode::AtLeastOnce {
            return end.at_least("counts kept", &self.counts, &counts);
        }
        same("counts kept", &self.counts, &counts)?;
        let last = entries::<Option<Vec<u8>>, Vec<u8>>(end, LAST)?;
        same("last values kept", &self.last, &last)
    }
}
