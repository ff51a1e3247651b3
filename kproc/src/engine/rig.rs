//! A task run by hand, with a clock that stands still and stores in a temporary directory: for this crate's own
//! tests, benchmark and count of allocations. Not part of the public interface.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use kproc_store::{Environment, EnvironmentOptions};
use tempfile::TempDir;

use super::{Attached, Carry, Factory, Failure, Pause, Rest, Task, TaskSettings, declared, factory};
use crate::{
    Processor,
    batch::{Batch, Segment, SegmentRow},
    clock::{BoxFuture, Clock},
    record::{Offset, Partition, Record, Timestamp, encode_header},
    topology::{ProcessorSpec, Topology},
};

/// A record to be fed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fed<'a> {
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
    /// The timestamp, in milliseconds.
    pub timestamp: Option<i64>,
    /// The headers.
    pub headers: &'a [(&'a str, Option<&'a [u8]>)],
}

/// Records to be fed, perhaps many times.
#[derive(Debug, Clone)]
pub struct Load(Arc<Segment>);

impl Load {
    /// These records, with offsets from `first` on.
    pub fn new(first: u64, records: &[Fed<'_>]) -> Self {
        let mut segment = Segment::default();
        for (offset, record) in (first..).zip(records) {
            let mut add = |bytes: Option<&[u8]>| {
                let start = segment.bytes.len() as u32;
                segment.bytes.extend_from_slice(bytes?);
                Some(start..segment.bytes.len() as u32)
            };
            let (key, value) = (add(record.key), add(record.value));
            let start = segment.bytes.len() as u32;
            for (name, value) in record.headers {
                encode_header(name.as_bytes(), *value, &mut segment.bytes);
            }
            segment.rows.push(SegmentRow {
                offset: Offset::new(offset),
                timestamp: record.timestamp.map(Timestamp::from_millis),
                key,
                value,
                headers: start..segment.bytes.len() as u32,
            });
        }
        Self(Arc::new(segment))
    }

    /// Calls `each` with every record.
    pub fn each(&self, mut each: impl FnMut(&Record<'_>)) {
        let mut batch = self.batch();
        while let Some(record) = batch.record(0, PARTITION) {
            each(&record);
            batch.advance();
        }
    }

    fn batch(&self) -> Batch {
        let mut batch = Batch::default();
        batch.push(self.0.clone(), 0..self.0.rows.len() as u32);
        batch
    }
}

/// A task run by hand.
pub struct Rig {
    pub(crate) topology: Arc<Topology>,
    pub(crate) task: Task,
    #[cfg(test)]
    pub(crate) factories: Vec<Factory>,
    #[cfg(test)]
    pub(crate) settings: TaskSettings,
    pub(crate) clock: HandClock,
    pub(crate) rest: Rest,
    pub(crate) budget: usize,
    pub(super) environments: Vec<Option<Environment>>,
    pub(super) next: Vec<u64>,
    /// The metadata of the last commit.
    pub(super) metadata: Option<String>,
    // Last: removed after the environments are closed.
    directory: TempDir,
}

/// Partition of the rig's task.
pub(super) const PARTITION: Partition = Partition::new(3);

impl Rig {
    /// A task of this processor, started.
    ///
    /// # Panics
    /// If the processor is not in order, or does not start.
    pub fn new<P: Processor + Default>() -> Self {
        let mut rig = Self::of(vec![factory(P::default)], TaskSettings::default());
        rig.start().unwrap_or_else(|failure| panic!("{failure}"));
        rig
    }

    /// Feeds records to an input, by its number.
    pub fn feed_load(&mut self, input: usize, load: &Load) {
        self.task.feed(input, load.batch());
    }

    /// Runs the task until it has nothing to do.
    ///
    /// # Panics
    /// If it fails.
    pub fn work(&mut self) {
        self.run().unwrap_or_else(|failure| panic!("{failure}"));
    }

    /// Forgets what was sent; says how many records it was.
    pub fn drain(&mut self) -> usize {
        let outbox = self.task.outbox();
        let sent = outbox.len();
        outbox.clear();
        sent
    }

    /// A task of these processors, which share inputs; not started.
    #[cfg_attr(not(test), expect(clippy::needless_pass_by_value, reason = "tests keep them"))]
    pub(crate) fn of(factories: Vec<Factory>, settings: TaskSettings) -> Self {
        let topology = Topology::build("app", declared(&factories), [].into());
        let topology = topology.unwrap_or_else(|error| panic!("{error}"));
        let topology = Arc::new(topology);
        let directory = TempDir::new().expect("a temporary directory");
        let open = |processor: &ProcessorSpec| {
            let specs: Vec<_> = processor.stores.iter().map(|store| store.0.clone()).collect();
            let options = EnvironmentOptions {
                map_size: 16 << 20,
                ..EnvironmentOptions::default()
            };
            (!specs.is_empty()).then(|| {
                let path = directory.path().join(&*processor.name);
                Environment::open(&path, &specs, &options)
                    .expect("an environment")
                    .environment
            })
        };
        let environments = topology.processors.iter().map(open).collect();
        let inputs = topology.groups[0].inputs.len();
        let task = Task::new(&topology, &factories, 0, PARTITION, &settings, Carry::default());
        let mut rig = Self {
            topology,
            task,
            #[cfg(test)]
            factories,
            #[cfg(test)]
            settings,
            clock: HandClock::default(),
            rest: Rest::default(),
            budget: usize::MAX,
            environments,
            next: vec![0; inputs],
            metadata: None,
            directory,
        };
        rig.prepare();
        rig
    }

    /// Opens the stores of a new task, and says that its inputs have no more than what is fed.
    pub(super) fn prepare(&mut self) {
        for (processor, environment) in self.environments.iter().enumerate() {
            let Some(environment) = environment else { continue };
            for store in 0..self.topology.processors[processor].stores.len() {
                let buffer = environment.buffer(store, self.task.marks()).expect("a buffer");
                self.task.attach(Attached {
                    processor,
                    store,
                    buffer,
                });
            }
        }
        for input in 0..self.next.len() {
            self.task.known(input, Some(Offset::ZERO), Some(Offset::ZERO));
        }
        if let Some(metadata) = &self.metadata {
            self.task.restore_time(metadata);
        }
    }

    pub(crate) fn start(&mut self) -> Result<(), Failure> {
        now_or_never(self.task.start(&self.clock))
    }

    pub(crate) fn run(&mut self) -> Result<Pause, Failure> {
        now_or_never(self.task.run(&self.rest, self.budget, &self.clock))
    }
}

impl std::fmt::Debug for Rig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rig")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// The wall time at which a rig begins.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A clock that is set by hand.
pub(crate) struct HandClock {
    pub(crate) wall: AtomicI64,
    pub(crate) now: AtomicI64,
}

impl Default for HandClock {
    fn default() -> Self {
        Self {
            wall: AtomicI64::new(START.as_millis()),
            now: AtomicI64::new(0),
        }
    }
}

impl Clock for HandClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::Relaxed) as u64)
    }
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(self.wall.load(Ordering::Relaxed))
    }
    fn sleep_until(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
    fn random(&self) -> u64 {
        0
    }
}

/// The result of a future that does not wait.
pub(super) fn now_or_never<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a handler waits for something that the rig does not have"),
    }
}
