//! Two processors that gather values, and give them out and forget them when a timer fires: one by stream time, one by
//! the wall clock, with a timer made for each gathering. Both read the same input, so they share their tasks.
//!
//! By stream time, what is given out when follows from the input alone, whoever was started or stopped meanwhile.

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
    Context, Partition, Processor, Record, Result, Table, Timestamp, Topic,
    engine::{Factory, factory},
    processor::{Declare, Start, StoreOptions},
    timer::{Timer, TimerClock},
};

const VALUES: Topic<String, i64> = Topic::new("values");
/// Stream time, and values in order.
const BY_STREAM: Topic<String, (i64, String)> = Topic::new("by-stream");
/// Values in order.
const BY_WALL: Topic<String, String> = Topic::new("by-wall");

const KEPT: [&str; 2] = ["app-by-stream-open-changelog", "app-by-wall-open-changelog"];

const PARTITIONS: u32 = 4;
const KEYS: u64 = 3;
/// Periods of the two timers that go by stream time. The second one only says that it fires.
const PERIODS: [i64; 2] = [10, 35];
/// How long values are gathered by the wall clock.
const GATHERED: Duration = Duration::from_millis(25);
/// What is given out under this key says that the second timer has fired.
const BEAT: &str = "beat";

/// See the module.
pub(in super::super) struct Timers;

/// Adds a value to those of a key.
fn gather(open: &mut Table<String, String>, key: &str, value: i64) -> Result<()> {
    let joint = match open.get(key)? {
        Some(before) => format!("{before} {value}"),
        None => value.to_string(),
    };
    open.put(key, &joint)?;
    Ok(())
}

struct ByStream {
    open: Table<String, String>,
    stand: Stand,
}

impl Processor for ByStream {
    fn name() -> Cow<'static, str> {
        "by-stream".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &VALUES, Start::Earliest);
        to.output(&BY_STREAM);
        to.store("open", StoreOptions::default(), &mut self.open);
        for (number, period) in PERIODS.iter().enumerate() {
            let period = Duration::from_millis(period.unsigned_abs());
            to.every(number, period, TimerClock::Stream);
        }
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        if let (Some(key), Some(value)) = record.decode(&VALUES)? {
            gather(&mut self.open, key, value)?;
        }
        self.stand.pause().await;
        Ok(())
    }

    async fn punctuate(&mut self, ctx: &mut Context<'_>, timer: Timer, now: Timestamp) -> Result<()> {
        self.stand.fires_by_stream();
        let partition = ctx.task().partition;
        if timer == Timer::Every(1) {
            let beat = (now.as_millis(), "");
            ctx.message(&BY_STREAM, BEAT, &beat).partition(partition).send()?;
            return self.stand.fired();
        }
        for entry in &self.open {
            let (key, values) = entry?;
            let given = (now.as_millis(), values);
            ctx.message(&BY_STREAM, key, &given).partition(partition).send()?;
        }
        self.stand.pause().await;
        self.open.retain(|_, _| false)?;
        self.stand.fired()
    }
}

struct ByWall {
    open: Table<String, String>,
    stand: Stand,
}

impl Processor for ByWall {
    fn name() -> Cow<'static, str> {
        "by-wall".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &VALUES, Start::Earliest);
        to.output(&BY_WALL);
        to.store("open", StoreOptions::default(), &mut self.open);
        to.handles_scheduled();
    }

    async fn start(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        if !self.open.is_empty()? {
            ctx.schedule(GATHERED, TimerClock::Wall)?;
        }
        Ok(())
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        if let (Some(key), Some(value)) = record.decode(&VALUES)? {
            if self.open.is_empty()? {
                ctx.schedule(GATHERED, TimerClock::Wall)?;
            }
            self.stand.pause().await;
            gather(&mut self.open, key, value)?;
        }
        // The last one to read it.
        self.stand.done("values", record);
        Ok(())
    }

    async fn punctuate(&mut self, ctx: &mut Context<'_>, timer: Timer, _: Timestamp) -> Result<()> {
        if let Timer::Scheduled(timer) = timer {
            ctx.cancel(timer);
        }
        for entry in &self.open {
            let (key, values) = entry?;
            ctx.send(&BY_WALL, key, values)?;
        }
        self.open.retain(|_, _| false)?;
        self.stand.pause().await;
        self.stand.fired()
    }
}

impl Workload for Timers {
    fn name(&self) -> &'static str {
        "timers"
    }

    fn topics(&self) -> &'static [(&'static str, u32)] {
        &[
            ("values", PARTITIONS),
            ("by-stream", PARTITIONS),
            ("by-wall", PARTITIONS),
        ]
    }

    /// Timestamps go on, with steps back, and with leaps over several periods. The values of a key are all different.
    fn input(&self, chance: &mut Chance) -> Vec<Write> {
        let mut at = Duration::ZERO;
        let mut all = Vec::new();
        for round in 0..40 {
            for partition in 0..PARTITIONS {
                let leap = if chance.one_in(10) { 30 } else { 0 };
                let key = format!("p{partition}k{}", chance.below(KEYS));
                let timestamp = Timestamp::from_millis(1000 + round * 4 + chance.below(6) as i64 + leap);
                all.push(Write::number(("values", partition), at, timestamp, &key, round));
            }
            at += chance.time(Duration::from_millis(120));
        }
        all
    }

    fn lingers(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn factories(&self, stand: &Stand) -> Vec<Factory> {
        let (first, second) = (stand.clone(), stand.clone());
        vec![
            factory(move || ByStream {
                open: Table::default(),
                stand: first.clone(),
            }),
            factory(move || ByWall {
                open: Table::default(),
                stand: second.clone(),
            }),
        ]
    }

    fn judge(&self, mode: Mode, input: &[Write]) -> Box<dyn Judge> {
        let mut values: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        let mut tasks = vec![TaskModel::default(); PARTITIONS as usize];
        for write in input {
            values.entry(write.key()).or_default().push(write.value());
            tasks[write.partition as usize].take(write);
        }
        let kept = tasks.iter().flat_map(|task| task.open.clone()).collect();
        let given = |(partition, task): (u32, TaskModel)| {
            let given = Order::of(Mode::ExactlyOnce, task.given);
            (Partition::new(partition), given)
        };
        Box::new(Model {
            mode,
            given: (0..).zip(tasks).map(given).collect(),
            kept,
            by_wall: values
                .iter()
                .map(|(key, values)| (key.clone(), Order::of(Mode::ExactlyOnce, values.clone())))
                .collect(),
            read: [BTreeMap::new(), BTreeMap::new()],
            values,
        })
    }
}

/// What is given out by stream time: stream time, key, values.
type Given = (i64, String, String);

/// What a task does by stream time.
#[derive(Clone, Default)]
struct TaskModel {
    open: BTreeMap<String, String>,
    stream_time: Option<i64>,
    /// When each timer is due.
    due: [i64; 2],
    given: Vec<Given>,
}

impl TaskModel {
    fn take(&mut self, write: &Write) {
        let open = self.open.entry(write.key()).or_default();
        let space = if open.is_empty() { "" } else { " " };
        *open = format!("{open}{space}{}", write.value());
        let time = write.timestamp.as_millis();
        match self.stream_time {
            Some(before) if time <= before => {}
            Some(_) => {
                self.stream_time = Some(time);
                self.fire(time);
            }
            None => {
                self.stream_time = Some(time);
                self.due = PERIODS.map(|period| time - time % period + period);
            }
        }
    }

    /// Those that are due, each once, the longest due first.
    fn fire(&mut self, now: i64) {
        let mut due: Vec<usize> = (0..2).filter(|timer| self.due[*timer] <= now).collect();
        due.sort_by_key(|timer| self.due[*timer]);
        for timer in due {
            self.due[timer] = now - now % PERIODS[timer] + PERIODS[timer];
            if timer == 1 {
                self.given.push((now, BEAT.to_owned(), String::new()));
                continue;
            }
            let open = std::mem::take(&mut self.open);
            self.given
                .extend(open.into_iter().map(|(key, values)| (now, key, values)));
        }
    }
}

/// What must come of it.
struct Model {
    mode: Mode,
    values: BTreeMap<String, Vec<i64>>,
    /// Exactly once: what is given out by stream time, and kept at the end.
    given: BTreeMap<Partition, Order<Given>>,
    kept: BTreeMap<String, String>,
    /// Exactly once: what is given out by the wall clock, however it is gathered.
    by_wall: BTreeMap<String, Order<i64>>,
    /// All values that were read, by either clock.
    read: [BTreeMap<String, Vec<i64>>; 2],
}

fn numbers(values: &str) -> impl Iterator<Item = i64> {
    values.split(' ').filter_map(|value| value.parse().ok())
}

impl Judge for Model {
    fn seen(&mut self, seen: &Seen<'_>) -> Verdict {
        let exactly_once = self.mode == Mode::ExactlyOnce;
        let (clock, key, values) = match &*seen.place.topic {
            "by-stream" => {
                let (key, (now, values)) = decoded(&BY_STREAM, seen)?;
                if let Some(given) = self.given.get_mut(&seen.place.partition)
                    && exactly_once
                {
                    given
                        .read((now, key.to_owned(), values.to_owned()))
                        .of(|| format!("given out by stream time in {}", seen.place))?;
                }
                (0, key, values)
            }
            "by-wall" => {
                let (key, values) = decoded(&BY_WALL, seen)?;
                (1, key, values)
            }
            _ => return Ok(()),
        };
        let read = self.read[clock].entry(key.to_owned()).or_default();
        read.extend(numbers(values));
        match self.by_wall.get_mut(key) {
            Some(order) if exactly_once && clock == 1 => {
                let each = &mut numbers(values);
                let each = each.try_for_each(|value| order.read(value));
                each.of(|| format!("values of {key} by the wall clock"))
            }
            None if key != BEAT => Err(format!("{values:?} of {key}: nobody wrote them")),
            _ => Ok(()),
        }
    }

    fn end(&mut self, end: &End<'_>) -> Verdict {
        let kept = [
            table::<String, String>(end, KEPT[0])?,
            table::<String, String>(end, KEPT[1])?,
        ];
        if self.mode == Mode::ExactlyOnce {
            for (partition, given) in &self.given {
                given
                    .end()
                    .of(|| format!("given out by stream time in partition {partition}"))?;
            }
            same("kept by stream time", &self.kept, &kept[0])?;
            same("kept by the wall clock", &BTreeMap::new(), &kept[1])?;
        }
        if end.had_late_records && self.mode == Mode::AtLeastOnce {
            // What is kept may be older than what was.
            return Ok(());
        }
        // Each value was given out, or is still kept.
        for (clock, kept) in kept.iter().enumerate() {
            for (key, due) in &self.values {
                let read = self.read[clock].get(key).map_or(&[][..], Vec::as_slice);
                let kept: Vec<i64> = kept
                    .get(key)
                    .into_iter()
                    .flat_map(|values| numbers(values))
                    .collect();
                let there = [read, &kept].concat();
                let what = format!("values of {key} by {}", ["stream time", "the wall clock"][clock]);
                if self.mode == Mode::ExactlyOnce {
                    same(&what, due, &there)?;
                } else if let Some(lost) = due.iter().find(|value| !there.contains(value)) {
                    return Err(format!("{what}: {lost} is lost"));
                }
            }
        }
        Ok(())
    }
}
