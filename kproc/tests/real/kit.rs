//! What the tests have in common: a broker, topics of a test's own, an application that counts, and an observer.

use std::{future::Future, path::Path, sync::Arc, time::Duration};

use kproc::{
    App, Clock, Offset, Partition, Running, SystemClock, TopicPartition,
    cluster::{
        Admin, Cluster, Isolation, JoinRequest, NewTopic, ProducerOptions,
        kafka::{KafkaCluster, KafkaOptions},
    },
    outbox::{Outbox, RawRecord},
    prelude::*,
};

use crate::broker::{
    TestBroker,
    counts::{self, Counts},
};

/// The broker of all tests that leave it in peace.
pub(crate) static SHARED: TestBroker = TestBroker::new(&[]);

/// A bound against hanging, which no machine reaches, however busy it is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// Of applications, unless the test is about what comes of a session's end: no machine is so busy that one ends.
const SESSION: Duration = Duration::from_secs(30);
/// All the same, members are soon to hear of each other's coming and going.
const HEARTBEAT: Duration = Duration::from_millis(200);

/// Of applications whose processes die without a word, or are cut off: it is waited for.
pub(crate) const SHORT_SESSION: Duration = Duration::from_secs(2);

/// What comes in: keys.
pub(crate) const KEYS: Topic<String, String> = Topic::new("keys");
/// What goes out: each key with how often it was seen so far.
pub(crate) const COUNTS: Topic<String, u64> = Topic::new("counts");

/// Its changelog, after the application's id.
pub(crate) const CHANGELOG: &str = "count-counts-changelog";

/// Counts keys.
#[processor]
#[derive(Default)]
pub(crate) struct Count {
    #[state]
    counts: Table<String, u64>,
}

#[processor]
impl Count {
    #[on_message(KEYS)]
    fn count(&mut self, ctx: &mut Context<'_>, key: &str, _value: &str) -> Result<()> {
        let mut count = self.counts.entry(key)?.or_default();
        *count += 1;
        ctx.send(&COUNTS, key, &*count)?;
        Ok(())
    }
}

/// Runs a test's body on this thread.
pub(crate) fn block_on<T>(body: impl Future<Output = T>) -> T {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    executor.unwrap().block_on(body)
}

/// A corner of a broker that one test has to itself: its topics and groups are named for it.
pub(crate) struct Site {
    pub(crate) brokers: String,
    pub(crate) name: &'static str,
    pub(crate) cluster: Arc<KafkaCluster>,
    pub(crate) clock: Arc<SystemClock>,
}

impl Site {
    /// A site on the shared broker; `None` if there is none to be had here.
    pub(crate) fn shared(name: &'static str) -> Option<Self> {
        Some(Self::at(SHARED.address()?, name))
    }

    pub(crate) fn at(brokers: &str, name: &'static str) -> Self {
        let clock = Arc::new(SystemClock::new());
        Self {
            brokers: brokers.to_owned(),
            name,
            cluster: Arc::new(connect(brokers, clock.clone())),
            clock,
        }
    }

    /// A topic's name in the cluster.
    pub(crate) fn topic(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    pub(crate) fn partition(&self, topic: &str, number: u32) -> TopicPartition {
        TopicPartition::new(self.topic(topic), Partition::new(number))
    }

    /// What a member that is the test's own asks for, to read the site's keys.
    pub(crate) fn join_request(&self, group: &str) -> JoinRequest {
        JoinRequest {
            group: group.to_owned(),
            topics: vec![self.topic("keys").into()],
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: None,
            revoke_timeout: Duration::from_secs(10),
            isolation: Isolation::ReadCommitted,
            read_ahead: None,
            client_id: "test".into(),
        }
    }

    pub(crate) fn admin(&self) -> Box<dyn Admin> {
        self.cluster.admin().unwrap()
    }

    /// Makes topics `counts` and `keys` with so many partitions. Brokers hear of them in this order.
    pub(crate) async fn make_topics(&self, partitions: u32) {
        for topic in ["counts", "keys"] {
            self.make_topic(topic, partitions, &[]).await;
        }
    }

    pub(crate) async fn delete_topic(&self, topic: &str) {
        let deleted = self.admin().delete(vec![self.topic(topic).into()]).await;
        assert_eq!(deleted.unwrap(), [Ok(())], "{topic}");
    }

    /// Deletes the records of partition 0 before an offset.
    pub(crate) async fn delete_records(&self, topic: &str, before: u64) {
        let place = self.partition(topic, 0);
        let mut admin = self.admin();
        let before = vec![(place, Offset::new(before))];
        admin.delete_records(before).await.unwrap();
    }

    /// Sets, or deletes, the committed offset of `keys[0]`.
    pub(crate) async fn set_offset(&self, offset: Option<u64>) {
        let offset = (self.partition("keys", 0), offset.map(Offset::new));
        let mut admin = self.admin();
        let set = admin.set_group_offsets(self.name.to_owned(), vec![offset]);
        set.await.unwrap();
    }

    pub(crate) async fn make_topic(&self, topic: &str, partitions: u32, config: &[(&str, &str)]) {
        let new = NewTopic {
            name: self.topic(topic).into(),
            partitions,
            config: config
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let made = self.admin().create(vec![new]).await.unwrap();
        assert_eq!(made, [Ok(())], "{topic}");
    }

    /// Makes the changelog of [`Count`], as an administrator would.
    pub(crate) async fn make_changelog(&self, partitions: u32) {
        self.make_topic(CHANGELOG, partitions, &[("cleanup.policy", "compact")])
            .await;
    }

    /// Writes one record for each key, in this order, and waits until all are written.
    pub(crate) async fn write(&self, keys: impl IntoIterator<Item: AsRef<str>>) {
        let topic: Arc<str> = self.topic("keys").into();
        let mut outbox = Outbox::default();
        for key in keys {
            let record = RawRecord {
                key: Some(key.as_ref().as_bytes()),
                value: Some(b"-"),
                ..RawRecord::default()
            };
            outbox.push_raw(&topic, &record);
        }
        let mut producer = self.cluster.producer(ProducerOptions::default()).unwrap();
        producer.send(&mut outbox).await.unwrap();
        producer.flush().await.unwrap();
    }

    /// A counting application with its own link to the broker, named for the site, not yet started. Each needs a state directory of
    /// its own.
    pub(crate) fn app(&self, state: &Path) -> App {
        self.app_of(self.name, state).processor::<Count>()
    }

    /// An application without processors.
    pub(crate) fn app_of(&self, id: &str, state: &Path) -> App {
        App::new(id)
            .bind(&KEYS, self.topic("keys"))
            .bind(&COUNTS, self.topic("counts"))
            .configure(|settings| {
                settings.brokers = vec![self.brokers.clone()];
                settings.state_dir = Some(state.to_owned());
                settings.session_timeout = SESSION;
                settings.heartbeat_interval = Some(HEARTBEAT);
                settings.commit_interval = Some(Duration::from_millis(100));
                settings.threads = 2;
            })
    }

    /// All counts that were written, in order for each key. Waits for a broker that is away.
    pub(crate) async fn counts(&self) -> Counts {
        counts::read(&*self.cluster, &*self.clock, &self.topic("counts")).await
    }

    /// Waits until that many counts were written, at least.
    pub(crate) async fn counted(&self, running: &[&Running], number: usize) -> Counts {
        let (mut patience, mut so_far) = (self.clock.now() + PATIENCE, 0);
        loop {
            let counts = self.counts().await;
            let seen = counts::number_of(&counts);
            if seen >= number {
                return counts;
            }
            // As long as it goes on, it may be slow.
            if seen > so_far {
                (patience, so_far) = (self.clock.now() + PATIENCE, seen);
            }
            let statuses: Vec<_> = running.iter().map(|running| running.status()).collect();
            assert!(
                self.clock.now() < patience,
                "after a long time, of {number}: {counts:?}; {statuses:?}"
            );
            assert!(
                statuses.iter().all(|status| status.failure.is_none()),
                "{statuses:?}"
            );
            self.pause(Duration::from_millis(50)).await;
        }
    }

    /// Waits until each of these keys has been counted up to there; some counts may have been written twice.
    pub(crate) async fn counted_up_to(&self, running: &Running, keys: &[&str], number: u64) {
        let patience = self.clock.now() + PATIENCE;
        loop {
            let counts = self.counts().await;
            let missing = |key: &str| {
                let counts = counts.get(key).map_or(&[][..], Vec::as_slice);
                (1..=number).find(|count| !counts.contains(count))
            };
            let Some((key, count)) = keys.iter().find_map(|key| Some((key, missing(key)?))) else {
                return;
            };
            let status = running.status();
            let site = self.name;
            assert_eq!(status.failure, None, "{site}");
            assert!(
                self.clock.now() < patience,
                "{site}: after a long time, {key} has no {count}: {status:?}"
            );
            self.pause(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn pause(&self, time: Duration) {
        self.clock.sleep_until(self.clock.now() + time).await;
    }
}

/// A link to the brokers of its own.
pub(crate) fn connect(brokers: &str, clock: Arc<SystemClock>) -> KafkaCluster {
    let options = KafkaOptions::new(vec![brokers.to_owned()], clock);
    KafkaCluster::new(options).unwrap()
}

/// Stops an application, which must end well within this time.
pub(crate) async fn stop(running: &Running, within: Duration) {
    running.shutdown(within);
    running.wait().await.unwrap();
}
