//! What the runtime's tests are made of: a world with a cluster, instances in it, a processor that counts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    Clock, Context, Offset, Partition, Processor, Record, Result, Table, Topic, TopicPartition,
    cluster::{
        Admin, Cluster, Isolation, NewTopic, Operation, Reader, Resource,
        embedded::{Driver, EmbeddedCluster, EmbeddedConnection, EmbeddedOptions},
    },
    engine::{Factory, declared, factory},
    outbox::{Outbox, RawRecord},
    processor::{Declare, Start, StoreOptions},
    runtime::{Plan, RunError, Running, Settings, sabotage::Sabotage, start},
    testing::{
        clock::SimClock,
        exec::{Crew, Executor},
        sim::SimSpawner,
    },
    topology::Topology,
};

pub(super) const WORDS: Topic<String, i64> = Topic::new("words");
pub(super) const COUNTS: Topic<String, i64> = Topic::new("counts");
pub(super) const APP: &str = "app";
pub(super) const CHANGELOG: &str = "app-count-totals-changelog";

/// Who has processed what, in order: instance, partition, offset.
#[derive(Clone, Default)]
pub(super) struct Diary(Arc<Mutex<Vec<(u64, Partition, Offset)>>>);

impl Diary {
    pub(super) fn lines(&self) -> Vec<(u64, Partition, Offset)> {
        self.0.lock().unwrap().clone()
    }

    pub(super) fn note(&self, instance: u64, partition: Partition, offset: Offset) {
        self.0.lock().unwrap().push((instance, partition, offset));
    }

    /// The offsets of a partition in the order in which they were processed.
    pub(super) fn offsets(&self, partition: u32) -> Vec<u64> {
        let lines = self.lines();
        let lines = lines.iter().filter(|line| line.1 == Partition::new(partition));
        lines.map(|line| line.2.get()).collect()
    }
}

/// Notes what it reads, from now on.
pub(super) struct FromNow(pub(super) Diary);

impl Processor for FromNow {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Latest);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        self.0.note(0, record.partition, record.offset);
        Ok(())
    }
}

/// What a handler does besides counting.
pub(super) type Whim = Arc<dyn Fn(&Record<'_>) -> Result<()> + Send + Sync>;

/// Counts the records of each key, and sends each new count.
pub(super) struct Count {
    pub(super) totals: Table<String, i64>,
    pub(super) instance: u64,
    pub(super) diary: Diary,
    /// Where to wait in the middle of a record, now and then.
    pub(super) clock: Option<SimClock>,
    pub(super) whim: Option<Whim>,
    /// Forgets a key when it has come to this, and begins again at 1.
    pub(super) forget_at: Option<i64>,
}

impl Processor for Count {
    fn name() -> std::borrow::Cow<'static, str> {
        "count".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&COUNTS);
        to.store("totals", StoreOptions::default(), &mut self.totals);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        let count = self.totals.get(key)?.unwrap_or_default() + 1;
        if let Some(clock) = &self.clock
            && clock.random().is_multiple_of(4)
        {
            clock.point("in a handler").await;
        }
        if self.forget_at == Some(count) {
            self.totals.delete(key)?;
        } else {
            self.totals.put(key, &count)?;
        }
        ctx.send(&COUNTS, key, &count)?;
        if let Some(whim) = &self.whim {
            whim(record)?;
        }
        self.diary.note(self.instance, record.partition, record.offset);
        Ok(())
    }
}

/// An instance of the application.
pub(super) struct Instance {
    pub(super) crew: Crew,
    pub(super) connection: Arc<EmbeddedConnection>,
    pub(super) running: Running,
}

/// A cluster and what lives in it.
pub(super) struct World {
    pub(super) executor: Executor,
    pub(super) cluster: EmbeddedCluster,
    pub(super) diary: Diary,
    pub(super) directory: TempDir,
    instances: u64,
}

impl World {
    /// With these topics, by names and numbers of partitions.
    pub(super) fn new(executor: Executor, topics: &[(&str, u32)]) -> Self {
        let clock = Arc::new(executor.clock().clone());
        Self::with_driver(executor, clock, topics)
    }

    /// With a driver that has the executor's clock.
    pub(super) fn with_driver(executor: Executor, driver: Arc<dyn Driver>, topics: &[(&str, u32)]) -> Self {
        let cluster = EmbeddedCluster::new(
            driver,
            EmbeddedOptions {
                auto_create: None,
                ..EmbeddedOptions::default()
            },
        );
        // In memory where there is such a place: syncing is the store's to test.
        let directory = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let mut world = Self {
            executor,
            cluster,
            diary: Diary::default(),
            directory,
            instances: 0,
        };
        for (name, partitions) in topics {
            world.create(name, *partitions, &[]);
        }
        world
    }

    /// With the topics of [`Count`], of four partitions.
    pub(super) fn of_words(executor: Executor) -> Self {
        Self::new(executor, &[("words", 4), ("counts", 4)])
    }

    /// One in which ten records of one key, in partition 0, were counted, with state in `a`.
    pub(super) fn counted(seed: u64) -> Self {
        let mut world = Self::of_words(Executor::new(seed));
        for number in 0..10 {
            world.write("words", 0, "k", number);
        }
        let instance = world.start("a");
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        world
    }

    pub(super) fn create(&mut self, name: &str, partitions: u32, config: &[(&str, &str)]) {
        let config = config
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let topic = NewTopic {
            name: name.into(),
            partitions,
            config: config.collect(),
        };
        let mut admin = self.cluster.connect().admin().unwrap();
        let created = self
            .executor
            .run_until(admin.create(vec![topic]))
            .unwrap()
            .unwrap();
        assert!(created.iter().all(std::result::Result::is_ok), "{created:?}");
    }

    /// Makes a topic though others may not.
    pub(super) fn create_as_admin(&mut self, name: &str, partitions: u32, config: &[(&str, &str)]) {
        self.cluster.allow(&Resource::Cluster, Operation::Create);
        self.create(name, partitions, config);
        self.cluster.deny(Resource::Cluster, Operation::Create);
    }

    /// How long ago that was, virtually.
    pub(super) fn since(&self, then: Duration) -> Duration {
        self.clock().now().saturating_sub(then)
    }

    pub(super) fn clock(&self) -> SimClock {
        self.executor.clock().clone()
    }

    /// The settings of an instance whose state is in `slot`.
    pub(super) fn settings(&self, slot: &str) -> Settings {
        let mut settings = Settings::new(self.directory.path().join(slot));
        settings.threads = 2;
        settings.commit_interval = Duration::from_millis(100);
        settings.session_timeout = Duration::from_secs(1);
        settings.revoke_timeout = Duration::from_secs(5);
        settings.store.map_size = 1 << 20;
        settings
    }

    pub(super) fn counter(&self, instance: u64, whim: Option<Whim>) -> Factory {
        self.counter_to(instance, whim, None)
    }

    fn counter_to(&self, instance: u64, whim: Option<Whim>, forget_at: Option<i64>) -> Factory {
        let (diary, clock) = (self.diary.clone(), self.clock());
        factory(move || Count {
            totals: Table::default(),
            instance,
            diary: diary.clone(),
            clock: Some(clock.clone()),
            whim: whim.clone(),
            forget_at,
        })
    }

    /// Starts an instance that counts.
    pub(super) fn start(&mut self, slot: &str) -> Instance {
        let settings = self.settings(slot);
        self.start_with(settings, None)
    }

    pub(super) fn start_with(&mut self, settings: Settings, whim: Option<Whim>) -> Instance {
        let counter = self.counter(self.instances + 1, whim);
        self.start_app(settings, vec![counter])
    }

    /// Starts an instance that counts to this, and begins again.
    pub(super) fn start_forgetful(
        &mut self,
        settings: Settings,
        whim: Option<Whim>,
        forget_at: i64,
    ) -> Instance {
        let counter = self.counter_to(self.instances + 1, whim, Some(forget_at));
        self.start_app(settings, vec![counter])
    }

    pub(super) fn start_app(&mut self, settings: Settings, factories: Vec<Factory>) -> Instance {
        self.instances += 1;
        let crew = Crew(self.instances);
        let connection = self.cluster.connect();
        if settings.sabotage == Some(Sabotage::FreshMetadata) {
            connection.ungate();
        }
        let running = start(
            plan(settings, factories),
            connection.clone(),
            Arc::new(self.clock()),
            &(Arc::new(SimSpawner {
                clock: self.clock(),
                crew,
            }) as _),
        )
        .unwrap();
        Instance {
            crew,
            connection,
            running,
        }
    }

    /// The process dies: first its link, then its futures.
    pub(super) fn crash(&mut self, instance: &Instance) {
        instance.connection.sever();
        self.executor.kill(instance.crew);
    }

    /// The process stands still: its link goes silent, its futures are not polled.
    pub(super) fn freeze(&mut self, instance: &Instance) {
        instance.connection.freeze();
        self.executor.freeze(instance.crew);
    }

    /// It goes on, believing what it believed.
    pub(super) fn thaw(&mut self, instance: &Instance) {
        self.executor.thaw(instance.crew);
        instance.connection.thaw();
    }

    /// Waits for an instance to end by itself.
    pub(super) fn wait(&mut self, instance: &Instance) -> std::result::Result<(), RunError> {
        let result = self.finish(instance.running.wait());
        self.executor.settle();
        assert_eq!(self.executor.alive(instance.crew), 0, "something is left of it");
        result
    }

    /// The result of a future that needs no more than ten minutes.
    pub(super) fn finish<T>(&mut self, future: impl Future<Output = T>) -> T {
        let clock = self.clock();
        let limit = clock.sleep_until(clock.now() + Duration::from_secs(600));
        let limited = async {
            tokio::select! { biased;
                result = future => Some(result),
                () = limit => None,
            }
        };
        self.executor.run_until(limited).flatten().expect("it hangs")
    }

    /// Runs until that is so.
    pub(super) fn until(&mut self, what: &str, mut so: impl FnMut(&Self) -> bool) {
        let limit = self.clock().now() + Duration::from_secs(600);
        while !so(self) {
            assert!(
                self.executor.step() && self.clock().now() < limit,
                "it never comes to pass: {what}"
            );
        }
    }

    /// An administrator of the cluster.
    pub(super) fn admin<T>(
        &mut self,
        act: impl AsyncFnOnce(&mut dyn Admin) -> crate::cluster::Result<T>,
    ) -> T {
        let mut admin = self.cluster.connect().admin().unwrap();
        self.executor.run_until(act(&mut *admin)).unwrap().unwrap()
    }

    /// Stops an instance in good order.
    pub(super) fn stop(&mut self, instance: &Instance) -> std::result::Result<(), RunError> {
        instance.running.shutdown(Duration::from_secs(20));
        let result = self.finish(instance.running.wait());
        // Its last futures may end after the last word.
        self.executor.settle();
        assert_eq!(self.executor.alive(instance.crew), 0, "something is left of it");
        result
    }

    /// Waits until everything is processed and committed.
    pub(super) fn drain(&mut self, instance: &Instance) {
        self.finish(instance.running.drained()).unwrap();
    }

    /// Writes a record.
    pub(super) fn write(&self, topic: &str, partition: u32, key: &str, value: i64) {
        append(&self.cluster, topic, partition, key, value);
    }

    /// The records of a partition.
    pub(super) fn read(&mut self, topic: &str, partition: u32) -> Vec<(String, Option<i64>)> {
        let mut reader = self.cluster.connect().reader(Isolation::ReadCommitted).unwrap();
        let place = TopicPartition::new(topic, Partition::new(partition));
        self.executor
            .run_until(read_all(&mut *reader, place))
            .expect("it hangs")
    }

    /// The last value of each key of a topic.
    pub(super) fn last_values(&mut self, topic: &str, partitions: u32) -> BTreeMap<String, i64> {
        let mut values = BTreeMap::new();
        for partition in 0..partitions {
            for (key, value) in self.read(topic, partition) {
                match value {
                    Some(value) => drop(values.insert(key, value)),
                    None => drop(values.remove(&key)),
                }
            }
        }
        values
    }
}

pub(super) fn append(cluster: &EmbeddedCluster, topic: &str, partition: u32, key: &str, value: i64) {
    let mut outbox = Outbox::default();
    outbox.push_raw(
        &Arc::from(topic),
        &RawRecord {
            partition: Some(Partition::new(partition)),
            timestamp: Some(crate::Timestamp::from_millis(value)),
            key: Some(key.as_bytes()),
            value: Some(&value.to_be_bytes()),
            ..RawRecord::default()
        },
    );
    cluster.append(&mut outbox).unwrap();
}

pub(super) async fn read_all(reader: &mut dyn Reader, place: TopicPartition) -> Vec<(String, Option<i64>)> {
    let marks = reader.watermarks(place.clone()).await.unwrap();
    let (mut at, end) = (marks.earliest, marks.stable);
    let mut rows = Vec::new();
    while at < end {
        let mut read = reader
            .read(place.clone(), at, 1000, Duration::ZERO)
            .await
            .unwrap();
        while let Some(record) = read.batch.record(0, place.partition) {
            let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
            rows.push((
                key,
                record
                    .value
                    .map(|value| i64::from_be_bytes(value.try_into().unwrap())),
            ));
            read.batch.advance();
        }
        at = read.next;
    }
    rows
}

/// An application of these processors.
pub(super) fn plan(settings: Settings, factories: Vec<Factory>) -> Plan {
    Plan {
        topology: Arc::new(Topology::build(APP, declared(&factories), BTreeMap::new()).unwrap()),
        factories: factories.into(),
        settings,
    }
}
