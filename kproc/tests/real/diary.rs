//! An application that counts and writes down what it does: which instance began, processed and ended what, in which
//! order.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use kproc::{
    App, Clock, Context, Partition, Processor, Record, Result, Running, SystemClock, Table, TaskPhase,
    cluster::{Cluster, ProducerOptions},
    outbox::{Outbox, RawRecord},
    processor::{Declare, Start, StoreOptions},
};

use crate::kit::{COUNTS, KEYS, PATIENCE, Site};

/// What an instance did with a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Began,
    Processed(u64),
    Ended,
}

/// A line of the diary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) instance: u64,
    pub(crate) partition: u32,
    pub(crate) what: What,
    pub(crate) at: Duration,
}

/// What all instances of a test did, in order.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<Line>>>);

impl Diary {
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.0.lock().unwrap().clone()
    }

    /// The lines about a partition.
    pub(crate) fn of(&self, partition: u32) -> Vec<Line> {
        let mut lines = self.lines();
        lines.retain(|line| line.partition == partition);
        lines
    }

    /// The offsets of a partition in the order in which they were processed.
    pub(crate) fn offsets(&self, partition: u32) -> Vec<u64> {
        let offset = |line: Line| match line.what {
            What::Processed(offset) => Some(offset),
            What::Began | What::Ended => None,
        };
        self.of(partition).into_iter().filter_map(offset).collect()
    }

    fn note(&self, instance: u64, partition: Partition, what: What, clock: &SystemClock) {
        let (partition, at) = (partition.get(), clock.now());
        self.0.lock().unwrap().push(Line {
            instance,
            partition,
            what,
            at,
        });
    }
}

/// What a handler does before it counts.
pub(crate) type Whim = Arc<dyn Fn(&Record<'_>) + Send + Sync>;

/// Counts keys, and says what it does.
struct Diarist {
    counts: Table<String, u64>,
    instance: u64,
    diary: Diary,
    clock: Arc<SystemClock>,
    whim: Whim,
}

impl Processor for Diarist {
    fn name() -> std::borrow::Cow<'static, str> {
        "count".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &KEYS, Start::Earliest);
        to.output(&COUNTS);
        to.store("counts", StoreOptions::default(), &mut self.counts);
    }

    async fn start(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let partition = ctx.task().partition;
        self.diary
            .note(self.instance, partition, What::Began, &self.clock);
        Ok(())
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        (self.whim)(record);
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        let count = self.counts.get(key)?.unwrap_or_default() + 1;
        self.counts.put(key, &count)?;
        ctx.send(&COUNTS, key, &count)?;
        let done = What::Processed(record.offset.get());
        self.diary
            .note(self.instance, record.partition, done, &self.clock);
        Ok(())
    }

    async fn stop(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let partition = ctx.task().partition;
        self.diary
            .note(self.instance, partition, What::Ended, &self.clock);
        Ok(())
    }
}

/// An instance that writes into the diary, not yet started.
pub(crate) fn diarist(site: &Site, instance: u64, state: &Path, diary: &Diary, whim: Option<Whim>) -> App {
    let (diary, clock) = (diary.clone(), site.clock.clone());
    let whim = whim.unwrap_or_else(|| Arc::new(|_| {}));
    site.app_of(site.name, state).processor_with(move || Diarist {
        counts: Table::default(),
        instance,
        diary: diary.clone(),
        clock: clock.clone(),
        whim: whim.clone(),
    })
}

/// The partitions whose tasks an instance processes.
pub(crate) fn partitions(running: &Running) -> Vec<u32> {
    let tasks = running.status().tasks.into_iter();
    tasks
        .filter(|task| matches!(task.phase, TaskPhase::Running { .. }))
        .map(|task| task.partition.get())
        .collect()
}

/// Writes records with this key, so many, into this partition of `keys`.
pub(crate) async fn write(site: &Site, partition: u32, key: &str, number: usize) {
    let topic: Arc<str> = site.topic("keys").into();
    let mut outbox = Outbox::default();
    for _ in 0..number {
        let record = RawRecord {
            partition: Some(Partition::new(partition)),
            key: Some(key.as_bytes()),
            value: Some(b"-"),
            ..RawRecord::default()
        };
        outbox.push_raw(&topic, &record);
    }
    let mut producer = site.cluster.producer(ProducerOptions::default()).unwrap();
    producer.send(&mut outbox).await.unwrap();
    producer.flush().await.unwrap();
}

/// Waits until that is so.
pub(crate) async fn until(site: &Site, what: &str, mut so: impl FnMut() -> bool) {
    let patience = site.clock.now() + PATIENCE;
    while !so() {
        assert!(site.clock.now() < patience, "after a long time: {what}");
        site.pause(Duration::from_millis(2)).await;
    }
}
