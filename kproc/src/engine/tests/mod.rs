//! The engine, by the rules that it promises. What the processors of these tests do is said by closures.

mod commit;
mod content;
mod failures;
mod order;
mod owed;
mod policies;
mod random;
mod rig;
mod time;
mod waiting;

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
    time::Duration,
};

use self::rig::Sent;
use super::{
    Failure, Next, Pause, Phase, TaskSettings,
    rig::{Fed, Load, Rig, START},
};
use crate::{
    Context, Error, ErrorKind, MissingTimestamp, Null, Offset, Partition, Policy, Processor, Record, Result,
    Retry, Table, Timer, TimerClock, TimerId, Timestamp, Topic,
    codec::Codec,
    engine::{Factory, factory},
    processor::{Declare, Start, StoreOptions},
};

const A: Topic<String, i64> = Topic::new("a");
const B: Topic<String, i64> = Topic::new("b");
const OUT: Topic<String, i64> = Topic::new("out");

/// What tests write down, in the order in which it happens.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    /// What was noted since the last call.
    fn read(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

type Counts = Table<String, i64>;
type OnRecord = dyn Fn(&mut Counts, &mut Context<'_>, &Record<'_>) -> Result<()> + Send + Sync;
type OnTimer = dyn Fn(&mut Counts, &mut Context<'_>, Timer, Timestamp) -> Result<()> + Send + Sync;
type OnEvent = dyn Fn(&mut Counts, &mut Context<'_>) -> Result<()> + Send + Sync;

/// What a [`Scripted`] processor does.
#[derive(Clone)]
struct Script {
    inputs: Vec<Topic<String, i64>>,
    timers: Vec<(Duration, TimerClock)>,
    scheduled: bool,
    record: Arc<OnRecord>,
    timer: Arc<OnTimer>,
    start: Arc<OnEvent>,
    stop: Arc<OnEvent>,
    stream_time: Arc<OnEvent>,
}

/// A processor that does what its script says. `N` tells several apart.
struct Scripted<const N: usize> {
    counts: Counts,
    script: Script,
}

impl<const N: usize> Processor for Scripted<N> {
    fn name() -> Cow<'static, str> {
        format!("p{N}").into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        for (number, topic) in self.script.inputs.iter().enumerate() {
            to.input(number, topic, Start::Earliest);
        }
        for (number, (period, clock)) in self.script.timers.iter().enumerate() {
            to.every(number, *period, *clock);
        }
        to.handles_stream_time();
        if self.script.scheduled {
            to.handles_scheduled();
        }
        to.store("counts", StoreOptions::default(), &mut self.counts);
    }

    async fn start(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        (self.script.start)(&mut self.counts, ctx)
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        (self.script.record)(&mut self.counts, ctx, record)
    }

    async fn punctuate(&mut self, ctx: &mut Context<'_>, timer: Timer, now: Timestamp) -> Result<()> {
        (self.script.timer)(&mut self.counts, ctx, timer, now)
    }

    async fn stream_time(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        (self.script.stream_time)(&mut self.counts, ctx)
    }

    async fn stop(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        (self.script.stop)(&mut self.counts, ctx)
    }
}

/// A script that reads topic `a` and does nothing.
fn script() -> Script {
    Script {
        inputs: vec![A],
        timers: vec![],
        scheduled: false,
        record: Arc::new(|_, _, _| Ok(())),
        timer: Arc::new(|_, _, _, _| Ok(())),
        start: Arc::new(|_, _| Ok(())),
        stop: Arc::new(|_, _| Ok(())),
        stream_time: Arc::new(|_, _| Ok(())),
    }
}

impl Script {
    fn inputs(mut self, inputs: &[Topic<String, i64>]) -> Self {
        self.inputs = inputs.to_vec();
        self
    }

    fn every(mut self, millis: u64, clock: TimerClock) -> Self {
        self.timers.push((Duration::from_millis(millis), clock));
        self
    }

    fn scheduled(mut self) -> Self {
        self.scheduled = true;
        self
    }

    fn on_record(
        mut self,
        f: impl Fn(&mut Counts, &mut Context<'_>, &Record<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.record = Arc::new(f);
        self
    }

    fn on_timer(
        mut self,
        f: impl Fn(&mut Counts, &mut Context<'_>, Timer, Timestamp) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.timer = Arc::new(f);
        self
    }

    fn on_start(
        mut self,
        f: impl Fn(&mut Counts, &mut Context<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.start = Arc::new(f);
        self
    }

    fn on_stop(
        mut self,
        f: impl Fn(&mut Counts, &mut Context<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.stop = Arc::new(f);
        self
    }

    fn on_stream_time(
        mut self,
        f: impl Fn(&mut Counts, &mut Context<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.stream_time = Arc::new(f);
        self
    }

    /// A factory of processor number `N` with this script.
    fn processor<const N: usize>(self) -> Factory {
        factory(move || Scripted::<N> {
            counts: Counts::default(),
            script: self.clone(),
        })
    }

    /// A started task of this one processor.
    fn rig(self) -> Rig {
        self.rig_with(TaskSettings::default())
    }

    fn rig_with(self, settings: TaskSettings) -> Rig {
        started(vec![self.processor::<0>()], settings)
    }
}

/// A started task of these processors.
fn started(processors: Vec<Factory>, settings: TaskSettings) -> Rig {
    let mut rig = Rig::of(processors, settings);
    rig.start().unwrap();
    rig
}

/// The same policy for all kinds of failures.
fn policy(policy: Policy) -> TaskSettings {
    TaskSettings {
        policies: crate::policy::Policies {
            deserialization: policy.clone(),
            processing: policy.clone(),
            panic: policy,
        },
        ..TaskSettings::default()
    }
}

/// The value under a key in the store of processor number `N`.
fn count<const N: usize>(rig: &Rig, key: &str) -> Option<i64> {
    rig.processor::<Scripted<N>>().counts.get(key).unwrap()
}

/// A number as a value of topic `a`.
const fn n(number: i64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A record with a text key, the number 1 and a timestamp.
fn rec(key: &str, timestamp: i64) -> Fed<'_> {
    const ONE: &[u8] = &n(1);
    Fed {
        key: Some(key.as_bytes()),
        value: Some(ONE),
        timestamp: Some(timestamp),
        headers: &[],
    }
}

/// The key of a record, as text.
fn key<'r>(record: &Record<'r>) -> Result<&'r str> {
    let key = record
        .key
        .ok_or_else(|| Error::new(ErrorKind::Deserialization, "the key is null"))?;
    <String as Codec>::decode(key).map_err(|error| Error::new(ErrorKind::Deserialization, error))
}

/// The keys of what was sent.
fn keys(sent: &[Sent]) -> Vec<String> {
    sent.iter()
        .map(|record| String::from_utf8(record.key.clone().unwrap()).unwrap())
        .collect()
}
