//! Exactly once: what comes out is exact for who reads committed records, and so is state.

use std::{fs, path::Path, sync::Arc, time::Duration};

use kproc::{
    App, Clock, Lag, Offset, Partition, Running,
    cluster::{Cluster, ClusterErrorKind, Isolation, Member, ProducerOptions, Watermarks},
    config::Processing,
    outbox::{Outbox, RawRecord},
    prelude::*,
    processor::Start,
};

use crate::{
    broker::{counts::number_of, tool},
    diary::{Diary, Whim, diarist, partitions, until, write},
    kit::{CHANGELOG, KEYS, PATIENCE, Site, block_on, stop},
};

/// With transactions, which the brokers end after a while.
pub(crate) fn exactly(app: App, timeout: Duration) -> App {
    app.configure(|settings| {
        settings.processing = Processing::ExactlyOnce;
        settings.transaction_timeout = timeout;
    })
}

/// The default is longer than some of these tests.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Site {
    /// The start of the ids of the transactions of an instance with this state: the worker's number follows.
    pub(crate) fn transactional_id(&self, state: &Path) -> String {
        let record = fs::read_to_string(state.join(self.name).join(".instance")).unwrap();
        let name = record.split_whitespace().next().unwrap();
        format!("{}-{name}-", self.name)
    }

    /// A producer of transactions that are the test's own.
    pub(crate) fn transactions(&self, id: &str) -> Box<dyn kproc::cluster::Producer> {
        let options = ProducerOptions {
            transactional_id: Some(id.to_owned()),
            transaction_timeout: Some(Duration::from_secs(60)),
            ..ProducerOptions::default()
        };
        self.cluster.producer(options).unwrap()
    }

    /// A member of a group that has nothing to do with the test: transactions without offsets need one, too.
    fn bystander(&self) -> Box<dyn Member> {
        let request = self.join_request(&format!("{}-bystander", self.name));
        self.cluster.join(request).unwrap()
    }

    /// Records of partition 0 of a topic, with these keys and values.
    pub(crate) fn records<V: AsRef<[u8]>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = (String, V)>,
    ) -> Outbox {
        let topic: Arc<str> = self.topic(topic).into();
        let mut outbox = Outbox::default();
        for (key, value) in records {
            let record = RawRecord {
                partition: Some(Partition::new(0)),
                key: Some(key.as_bytes()),
                value: Some(value.as_ref()),
                ..RawRecord::default()
            };
            outbox.push_raw(&topic, &record);
        }
        outbox
    }

    /// The ends of partition 0 of a topic. Waits for a broker that is away.
    pub(crate) async fn ends(&self, topic: &str) -> Watermarks {
        let patience = self.clock.now() + PATIENCE;
        loop {
            let mut reader = self.cluster.reader(Isolation::ReadCommitted).unwrap();
            match reader.watermarks(self.partition(topic, 0)).await {
                Ok(ends) => return ends,
                Err(error) if error.kind == ClusterErrorKind::Retriable => {
                    assert!(self.clock.now() < patience, "after a long time: {error}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// How far the application is behind with `keys`.
    pub(crate) async fn lag(&self) -> u64 {
        let inputs = [(self.topic("keys").into(), Start::Earliest)];
        let lag = Lag::measure(&*self.cluster, self.name, inputs).await;
        lag.unwrap().total()
    }

    /// Waits until the application has committed all of `keys`.
    pub(crate) async fn caught_up(&self, running: &Running) {
        let patience = self.clock.now() + PATIENCE;
        loop {
            let lag = self.lag().await;
            if lag == 0 {
                return;
            }
            let status = running.status();
            assert!(status.failure.is_none(), "{status:?}");
            assert!(
                self.clock.now() < patience,
                "after a long time: {lag}, {status:?}"
            );
            self.pause(Duration::from_millis(20)).await;
        }
    }
}

/// The counts of a key that was seen so often.
pub(crate) fn up_to(number: usize) -> Vec<u64> {
    (1..=number as u64).collect()
}

/// Wants nothing of what comes.
#[processor]
#[derive(Default)]
struct Filter {
    #[state]
    seen: Table<String, u64>,
}

#[processor]
impl Filter {
    #[on_message(KEYS)]
    fn look(&mut self, ctx: &mut Context<'_>, key: &str, value: &str) -> Result<()> {
        if value != "-" {
            self.seen.put(key, &1)?;
            ctx.commit();
        }
        Ok(())
    }
}

/// Scenario E01: where nothing is sent there is no transaction, and offsets advance.
#[test]
fn e01_without_anything_to_write_no_transaction_is_begun() {
    let Some(site) = Site::shared("e01") else { return };
    block_on(async {
        site.make_topics(1).await;
        let state = tempfile::tempdir().unwrap();
        let app = site.app_of(site.name, state.path()).processor::<Filter>();
        let running = exactly(app, TIMEOUT).start().unwrap();
        for round in 1..=3 {
            site.write(["apple", "plum"]).await;
            site.caught_up(&running).await;
            let committed = site.admin().group_offsets(site.name.into()).await.unwrap();
            assert_eq!(committed[0].1.next, Offset::new(2 * round));
        }
        let id = site.transactional_id(state.path());
        let ids = ["--bootstrap-server", &site.brokers, "list"];
        let ids = tool("org.apache.kafka.tools.TransactionsCommand", &ids);
        let own: Vec<_> = ids.lines().filter(|line| line.starts_with(&id)).collect();
        assert_eq!(
            own.len(),
            3,
            "one of each worker, and the one that is tried: {ids}"
        );
        assert!(own.iter().all(|line| line.contains("Empty")), "{own:?}");
        stop(&running, Duration::from_secs(20)).await;
    });
}

/// Scenario E06: records that take longer together than a transaction may. What was done is committed meanwhile; nothing is
/// done twice.
#[test]
fn e06_handlers_that_take_longer_than_a_transaction_may() {
    const RECORDS: usize = 20;
    let Some(site) = Site::shared("e06") else { return };
    block_on(async {
        site.make_topics(1).await;
        let (diary, state) = (Diary::default(), tempfile::tempdir().unwrap());
        let slow: Whim = Arc::new(|_| std::thread::sleep(Duration::from_millis(500)));
        write(&site, 0, "apple", RECORDS).await;
        let app = diarist(&site, 1, state.path(), &diary, Some(slow));
        let running = exactly(app, Duration::from_secs(2)).start().unwrap();
        site.counted(&[&running], 1).await;
        let done = diary.offsets(0).len();
        assert!(done <= RECORDS / 2, "the first one was committed after {done}");
        let counts = site.counted(&[&running], RECORDS).await;
        assert_eq!(counts["apple"], up_to(RECORDS));
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(site.counts().await, counts);
        assert_eq!(
            diary.offsets(0),
            (0..RECORDS as u64).collect::<Vec<_>>(),
            "each was processed once"
        );
    });
}

/// Scenario E07: another producer takes the id in the middle of five batches. The application takes it back, goes back to what
/// was committed, and nothing is missing, nor there twice.
#[test]
fn e07_a_fence_in_the_middle_costs_nothing() {
    const BATCH: usize = 100;
    let Some(site) = Site::shared("e07") else { return };
    block_on(async {
        site.make_topics(1).await;
        let state = tempfile::tempdir().unwrap();
        let app = site.app(state.path()).configure(|settings| settings.threads = 1);
        let running = exactly(app, TIMEOUT).start().unwrap();
        for batch in 1..=5 {
            if batch == 3 {
                let id = format!("{}0", site.transactional_id(state.path()));
                site.transactions(&id).init().await.unwrap();
            }
            site.write(["apple"; BATCH]).await;
            let counts = site.counted(&[&running], batch * BATCH).await;
            assert_eq!(counts["apple"], up_to(batch * BATCH));
        }
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(number_of(&site.counts().await), 5 * BATCH);
    });
}

/// How long E16 goes on: `KPROC_E16_SECONDS`, or a little while.
fn rebalancing() -> Duration {
    let seconds = std::env::var("KPROC_E16_SECONDS").ok();
    Duration::from_secs(seconds.map_or(8, |text| text.parse().unwrap()))
}

/// The epochs of the producers of an instance's four workers: each time that an id is taken has one of its own.
fn epochs(site: &Site, state: &Path) -> [u64; 4] {
    let id = site.transactional_id(state);
    [0, 1, 2, 3].map(|worker| {
        let id = format!("{id}{worker}");
        let arguments = [
            "--bootstrap-server",
            &site.brokers,
            "describe",
            "--transactional-id",
            &id,
        ];
        let described = tool("org.apache.kafka.tools.TransactionsCommand", &arguments);
        let rows: Vec<Vec<&str>> = described
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let column = rows[0].iter().position(|name| *name == "ProducerEpoch").unwrap();
        rows[1][column].parse().unwrap()
    })
}

/// Scenario E16: four workers on eight partitions, and a guest with as many that comes and goes. No producer ends another's
/// transactions, and all is exact.
#[test]
fn e16_workers_never_fence_each_other_however_often_partitions_move() {
    const KEYS: usize = 64;
    let Some(site) = Site::shared("e16") else { return };
    block_on(async {
        site.make_topics(8).await;
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let start = |number: usize| {
            let app = site.app(states[number].path());
            let app = app.configure(|settings| settings.threads = 4);
            exactly(app, TIMEOUT).start().unwrap()
        };
        let keys: Vec<_> = (0..KEYS).map(|number| number.to_string()).collect();
        let mut rounds = 0;
        let lasting = start(0);
        site.write(&keys).await;
        rounds += 1;
        site.counted(&[&lasting], KEYS).await;
        let before = epochs(&site, states[0].path());
        let (mut guests, end) = (0, site.clock.now() + rebalancing());
        while site.clock.now() < end {
            let guest = start(1);
            until(&site, "the guest has its half", || partitions(&guest).len() == 4).await;
            for _ in 0..4 {
                site.write(&keys).await;
                rounds += 1;
            }
            stop(&guest, Duration::from_secs(20)).await;
            guests += 1;
        }
        println!("{guests} guests, {rounds} rounds");
        let counts = site.counted(&[&lasting], rounds * KEYS).await;
        assert_eq!(counts.len(), KEYS);
        for (key, counts) in counts {
            assert_eq!(counts, up_to(rounds), "{key}");
        }
        assert_eq!(epochs(&site, states[0].path()), before);
        // Each guest takes each of its ids once: whether it may is tried with another one.
        let taken = epochs(&site, states[1].path());
        assert_eq!(taken, [guests - 1; 4]);
        stop(&lasting, Duration::from_secs(20)).await;
    });
}

/// Scenario E12: the marker behind the last record is no lag, nor is what is not decided yet.
#[test]
fn e12_lag_is_zero_behind_markers_and_before_open_transactions() {
    let Some(site) = Site::shared("e12") else { return };
    block_on(async {
        site.make_topics(1).await;
        let state = tempfile::tempdir().unwrap();
        let running = exactly(site.app(state.path()), TIMEOUT).start().unwrap();
        let bystander = site.bystander();
        let group = bystander.group();
        let keys = |key: &str| site.records("keys", [(key.to_owned(), "-")]);
        let mut producer = site.transactions("e12-input");
        producer.init().await.unwrap();
        producer.send(&mut keys("apple")).await.unwrap();
        producer.commit(group.clone(), Vec::new()).await.unwrap();
        site.counted(&[&running], 1).await;
        site.caught_up(&running).await;
        let ends = site.ends("keys").await;
        assert_eq!((ends.stable, ends.latest), (Offset::new(2), Offset::new(2)));
        let committed = site.admin().group_offsets(site.name.into()).await.unwrap();
        assert_eq!(committed[0].1.next, Offset::new(2), "behind the marker");

        // Not decided, and thus nobody's to process.
        producer.send(&mut keys("plum")).await.unwrap();
        producer.flush().await.unwrap();
        let ends = site.ends("keys").await;
        assert_eq!((ends.stable, ends.latest), (Offset::new(2), Offset::new(3)));
        assert_eq!(site.lag().await, 0);
        producer.abort().await.unwrap();
        // An aborted record and its marker are passed over; until then they are ahead.
        site.caught_up(&running).await;
        let committed = site.admin().group_offsets(site.name.into()).await.unwrap();
        assert_eq!(committed[0].1.next, Offset::new(4));
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(number_of(&site.counts().await), 1);
    });
}

/// Scenario E13: a restore passes over what was aborted, wherever it is, and ends.
#[test]
fn e13_a_restore_passes_over_aborted_records() {
    const ABORTED: usize = 1000;
    let Some(site) = Site::shared("e13") else { return };
    block_on(async {
        site.make_topics(1).await;
        site.make_changelog(1).await;
        let bystander = site.bystander();
        let group = bystander.group();
        let mut producer = site.transactions("e13-changelog");
        producer.init().await.unwrap();
        for count in [Some(7_u64), None, Some(8), None] {
            let number = if count.is_some() { 1 } else { ABORTED };
            let value = count.unwrap_or(1_000_000).to_be_bytes();
            let records = (0..number).map(|_| ("apple".to_owned(), value));
            let mut records = site.records(CHANGELOG, records);
            producer.send(&mut records).await.unwrap();
            if count.is_some() {
                producer.commit(group.clone(), Vec::new()).await.unwrap();
            } else {
                // They are in the log, and not in the client only.
                producer.flush().await.unwrap();
                producer.abort().await.unwrap();
            }
        }
        // State of a group without offsets would be refused.
        site.set_offset(Some(0)).await;
        site.write(["apple"]).await;
        let state = tempfile::tempdir().unwrap();
        let begun = site.clock.now();
        let running = exactly(site.app(state.path()), TIMEOUT).start().unwrap();
        let counts = site.counted(&[&running], 1).await;
        println!("counted after {:?}", site.clock.now().saturating_sub(begun));
        assert_eq!(counts["apple"], [9]);
        stop(&running, Duration::from_secs(20)).await;
    });
}
