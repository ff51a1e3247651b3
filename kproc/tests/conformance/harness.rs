//! What an implementation brings to be tested, and what the bodies use to test it.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use kproc::{
    Clock, Offset, Partition, Timestamp, TopicPartition,
    cluster::{Cluster, Isolation, JoinRequest, NewTopic, Positions, ProducerOptions},
    outbox::{Outbox, RawRecord},
};

/// An implementation.
pub(crate) trait Harness {
    /// What a failure is reported under.
    fn name(&self) -> String;
    /// Runs a body.
    fn block_on(&self, body: Pin<Box<dyn Future<Output = ()> + '_>>);
    /// One more instance of an application.
    fn connect(&self) -> Instance;
    /// The clock that its deadlines are measured by.
    fn clock(&self) -> Arc<dyn Clock>;
    /// The shortest session that it can do.
    fn session_timeout(&self) -> Duration;
    /// Asks for a cleaning of the logs, where one can ask for it.
    fn clean(&self) {}
    /// Whether a record can be written with timestamp zero; else it is written with 1.
    fn writes_time_zero(&self) -> bool {
        true
    }
    /// How long anything may take at most.
    fn patience(&self) -> Duration {
        self.session_timeout() * 20 + Duration::from_secs(10)
    }
}

/// An instance of an application.
pub(crate) struct Instance {
    /// What it sees.
    pub(crate) cluster: Arc<dyn Cluster>,
    /// Ends it without a word to the cluster.
    pub(crate) kill: Box<dyn FnOnce()>,
}

/// Runs one body against each harness.
pub(crate) fn run<H: Harness + 'static>(harnesses: impl IntoIterator<Item = H>, body: &impl AsyncFn(&World)) {
    for harness in harnesses {
        let _name = NameOnPanic(harness.name());
        let harness = Rc::new(harness);
        let world = World {
            clock: harness.clock(),
            harness: harness.clone(),
            names: AtomicU64::new(0),
        };
        harness.block_on(Box::pin(body(&world)));
    }
}

/// Says which harness it was.
struct NameOnPanic(String);

impl Drop for NameOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the harness was: {}", self.0);
        }
    }
}

/// A record as the bodies compare it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) offset: u64,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Seen {
    /// Takes all records of a batch.
    pub(crate) fn all(mut batch: kproc::Batch) -> Vec<Self> {
        let mut seen = Vec::with_capacity(batch.remaining());
        while let Some(record) = batch.record(0, Partition::new(0)) {
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            seen.push(Self {
                offset: record.offset.get(),
                timestamp: record.timestamp,
                key: owned(record.key),
                value: owned(record.value),
                headers: record
                    .headers
                    .iter()
                    .map(|(name, value)| (name.to_vec(), owned(value)))
                    .collect(),
            });
            batch.advance();
        }
        seen
    }

    /// The value as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.value.clone().unwrap()).unwrap()
    }
}

/// The values as text.
pub(crate) fn texts(seen: &[Seen]) -> Vec<String> {
    seen.iter().map(Seen::text).collect()
}

/// A record with a key and a value.
pub(crate) fn pair<'r>(key: &'r str, value: &'r str) -> RawRecord<'r> {
    RawRecord {
        key: Some(key.as_bytes()),
        value: Some(value.as_bytes()),
        ..RawRecord::default()
    }
}

/// A record with a value, for one partition.
pub(crate) fn value_in(partition: u32, value: &str) -> RawRecord<'_> {
    let partition = Some(Partition::new(partition));
    RawRecord {
        partition,
        value: Some(value.as_bytes()),
        ..RawRecord::default()
    }
}

/// A partition.
pub(crate) fn part(topic: &Arc<str>, number: u32) -> TopicPartition {
    TopicPartition::new(topic.clone(), Partition::new(number))
}

/// What a body works with.
pub(crate) struct World {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) harness: Rc<dyn Harness>,
    names: AtomicU64,
}

impl World {
    /// A name that nothing has had before.
    pub(crate) fn name(&self, text: &str) -> Arc<str> {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{text}-{number}-{:016x}", self.clock.random()).into()
    }

    /// One more instance that is never killed.
    pub(crate) fn connect(&self) -> Arc<dyn Cluster> {
        self.harness.connect().cluster
    }

    /// Makes a topic with these settings.
    pub(crate) async fn topic_with(&self, partitions: u32, config: &[(&str, &str)]) -> Arc<str> {
        let name = self.name("topic");
        let config = config
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let new = NewTopic {
            name: name.clone(),
            partitions,
            config,
        };
        let mut admin = self.connect().admin().unwrap();
        let outcomes = self.within(admin.create(vec![new])).await.unwrap();
        assert_eq!(outcomes, [Ok(())]);
        name
    }

    /// Makes a topic.
    pub(crate) async fn topic(&self, partitions: u32) -> Arc<str> {
        self.topic_with(partitions, &[]).await
    }

    /// Writes records, and says where they went.
    pub(crate) async fn produce(&self, topic: &Arc<str>, records: &[RawRecord<'_>]) -> Positions {
        let mut producer = self.connect().producer(ProducerOptions::default()).unwrap();
        let mut outbox = Outbox::default();
        for record in records {
            outbox.push_raw(topic, record);
        }
        self.within(producer.send(&mut outbox)).await.unwrap();
        assert!(outbox.is_empty());
        self.within(producer.flush()).await.unwrap()
    }

    /// Reads a partition from its start to its present end.
    pub(crate) async fn read_all(&self, partition: TopicPartition) -> Vec<Seen> {
        let mut reader = self.connect().reader(Isolation::ReadCommitted).unwrap();
        let ends = self.within(reader.watermarks(partition.clone())).await.unwrap();
        let (mut seen, mut next) = (vec![], ends.earliest);
        while next < ends.stable {
            let wait = self.harness.patience();
            let read = self
                .within(reader.read(partition.clone(), next, 1000, wait))
                .await
                .unwrap();
            assert!(read.next > next || read.batch.remaining() > 0);
            seen.extend(Seen::all(read.batch));
            next = read.next;
        }
        seen
    }

    /// Reads all partitions of a topic.
    pub(crate) async fn read_topic(&self, topic: &Arc<str>, partitions: u32) -> BTreeMap<u32, Vec<Seen>> {
        let mut all = BTreeMap::new();
        for number in 0..partitions {
            all.insert(number, self.read_all(part(topic, number)).await);
        }
        all
    }

    /// What it takes to join.
    pub(crate) fn join(&self, group: &Arc<str>, topics: &[&Arc<str>]) -> JoinRequest {
        JoinRequest {
            group: group.to_string(),
            topics: topics.iter().map(|topic| (*topic).clone()).collect(),
            session_timeout: self.harness.session_timeout(),
            heartbeat_interval: None,
            revoke_timeout: self.harness.patience(),
            isolation: Isolation::ReadCommitted,
            read_ahead: None,
            client_id: "conformance".into(),
        }
    }

    /// Fails if it takes longer than anything may.
    #[track_caller]
    pub(crate) fn within<'a, T: 'a>(
        &self,
        work: impl Future<Output = T> + 'a,
    ) -> impl Future<Output = T> + 'a {
        let caller = std::panic::Location::caller();
        let patience = self.harness.patience();
        let mut late = self.clock.sleep_until(self.clock.now() + patience);
        let mut work = Box::pin(work);
        poll_fn(move |cx| {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            assert!(
                late.as_mut().poll(cx).is_pending(),
                "not done within {patience:?} at {caller}"
            );
            Poll::Pending
        })
    }
}

/// An offset.
pub(crate) fn at(number: u64) -> Offset {
    Offset::new(number)
}
