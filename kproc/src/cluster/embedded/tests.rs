//! What only the embedded cluster can do: severed links, and what its own verbs promise.

use std::{
    collections::BTreeSet,
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use super::{EmbeddedCluster, EmbeddedConnection, EmbeddedOptions};
use crate::{
    Clock, Offset, Partition, Timestamp, TopicPartition,
    cluster::{
        Assignment, Cluster, ClusterErrorKind, Event, Isolation, JoinRequest, Member, NewTopic, OffsetCommit,
        ProducerOptions, Result, SeekTo,
    },
    outbox::{Outbox, RawRecord},
    testing::exec::Executor,
};

const SESSION: Duration = Duration::from_secs(1);

/// A cluster in virtual time, with a topic `t`.
struct World {
    executor: Executor,
    cluster: EmbeddedCluster,
}

impl World {
    fn new(seed: u64, partitions: u32) -> Self {
        let executor = Executor::new(seed);
        let options = EmbeddedOptions {
            auto_create: None,
            ..EmbeddedOptions::default()
        };
        let cluster = EmbeddedCluster::new(Arc::new(executor.clock().clone()), options);
        let mut world = Self { executor, cluster };
        world.create("t", partitions, &[]).unwrap();
        world
    }

    fn create(&mut self, name: &str, partitions: u32, config: &[(&str, &str)]) -> Result<()> {
        let config = config
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let mut admin = self.cluster.connect().admin().unwrap();
        let new = NewTopic {
            name: name.into(),
            partitions,
            config,
        };
        self.run(admin.create(vec![new])).unwrap().remove(0)
    }

    fn run<T>(&mut self, future: impl Future<Output = T>) -> T {
        self.executor.run_until(future).expect("it comes to an end")
    }

    fn now(&self) -> Duration {
        self.executor.clock().now()
    }

    fn join(&self) -> (Arc<EmbeddedConnection>, Box<dyn Member>) {
        let connection = self.cluster.connect();
        let request = JoinRequest {
            group: "g".into(),
            topics: vec!["t".into()],
            session_timeout: SESSION,
            revoke_timeout: Duration::from_secs(60),
            isolation: Isolation::ReadCommitted,
            client_id: String::new(),
        };
        let member = connection.join(request).unwrap();
        (connection, member)
    }

    fn assigned(&mut self, member: &mut Box<dyn Member>) -> Vec<Assignment> {
        match self.run(member.next_event()) {
            Event::Assigned(assignments) => assignments,
            _ => panic!("not an assignment"),
        }
    }

    fn committed(&mut self) -> Option<u64> {
        let mut admin = self.cluster.connect().admin().unwrap();
        let offsets = self.run(admin.group_offsets("g".into())).unwrap();
        offsets.first().map(|(_, offset)| offset.next.get())
    }
}

fn place(number: u32) -> TopicPartition {
    TopicPartition::new("t", Partition::new(number))
}

fn offset(assignment: &Assignment, next: u64) -> OffsetCommit {
    let (partition, ownership) = (assignment.partition.clone(), assignment.ownership);
    OffsetCommit {
        partition,
        ownership,
        next: Offset::new(next),
        metadata: String::new(),
    }
}

fn one(value: &str) -> Outbox {
    let mut outbox = Outbox::default();
    outbox.push_raw(
        &"t".into(),
        &RawRecord {
            value: Some(value.as_bytes()),
            ..RawRecord::default()
        },
    );
    outbox
}

#[test]
fn a_request_on_a_severed_link_arrives_by_chance_and_is_not_answered() {
    let mut arrived = BTreeSet::new();
    for seed in 0..20 {
        let mut world = World::new(seed, 1);
        let (connection, mut member) = world.join();
        let own = world.assigned(&mut member);
        let commit = member.group().commit(vec![offset(&own[0], 7)]);
        connection.sever();
        let begin = world.now();
        let error = world.run(commit).unwrap_err();
        assert_eq!(error.kind, ClusterErrorKind::Unknown);
        assert!(
            world.now() >= begin + Duration::from_secs(30),
            "answered too soon"
        );
        // What is sent over a severed link does not leave.
        let error = world
            .run(member.group().commit(vec![offset(&own[0], 9)]))
            .unwrap_err();
        assert_eq!(error.kind, ClusterErrorKind::Unknown);
        arrived.insert(world.committed());
    }
    assert_eq!(arrived, BTreeSet::from([None, Some(7)]));
}

#[test]
fn a_request_outlives_its_future() {
    let mut world = World::new(1, 1);
    let (_connection, mut member) = world.join();
    let own = world.assigned(&mut member);
    drop(member.group().commit(vec![offset(&own[0], 7)]));
    world.executor.advance(Duration::from_secs(1));
    assert_eq!(world.committed(), Some(7));
}

#[test]
fn a_crash_releases_nothing_and_its_session_runs_out() {
    for seed in 0..20 {
        let mut world = World::new(seed, 2);
        let (connection, mut crashing) = world.join();
        let own = world.assigned(&mut crashing);
        let (_other, mut waiting) = world.join();
        let Event::Revoked(_, token) = world.run(crashing.next_event()) else {
            panic!("not a revocation")
        };

        let begin = world.now();
        connection.sever();
        // Destructors run in any order, and none of them reaches the cluster.
        drop(token);
        drop(own);
        drop(crashing);
        let taken = world.assigned(&mut waiting);
        assert_eq!(taken.len(), 2);
        let waited = world.now().saturating_sub(begin);
        assert!((SESSION..SESSION * 2).contains(&waited), "{waited:?}");
    }
}

#[test]
fn a_member_that_is_only_dropped_looks_crashed() {
    let mut world = World::new(1, 1);
    let (_one, mut first) = world.join();
    let own = world.assigned(&mut first);
    let (_two, mut second) = world.join();
    let begin = world.now();
    drop(own);
    drop(first);
    world.assigned(&mut second);
    assert!(world.now() >= begin + SESSION);
}

/// Whether the joining arrives or not, and whether the link or only the object goes: nobody waits for long.
#[test]
fn a_member_that_dies_while_it_joins_is_no_burden() {
    for seed in 0..20 {
        for severed in [true, false] {
            let mut world = World::new(seed, 2);
            let (connection, first) = world.join();
            if severed {
                connection.sever();
            }
            drop(first);
            let (_other, mut second) = world.join();
            let mut parts = world.assigned(&mut second).len();
            while parts < 2 {
                parts += world.assigned(&mut second).len();
            }
            assert!(world.now() <= SESSION * 2, "{:?}", world.now());
        }
    }
}

#[test]
fn records_sent_over_a_severed_link_make_no_topic() {
    let mut world = World::new(1, 1);
    let clock = Arc::new(world.executor.clock().clone());
    let cluster = EmbeddedCluster::new(clock, EmbeddedOptions::default());
    let connection = cluster.connect();
    let mut producer = connection.producer(ProducerOptions::default()).unwrap();
    connection.sever();
    world.run(producer.send(&mut one("a"))).unwrap();
    assert_eq!(
        world.run(producer.flush()).unwrap_err().kind,
        ClusterErrorKind::Unknown
    );
    let mut admin = cluster.connect().admin().unwrap();
    assert_eq!(world.run(admin.describe(vec!["t".into()])).unwrap(), [None]);
}

#[test]
fn a_link_that_is_mended_in_time_loses_nothing() {
    let mut world = World::new(1, 1);
    let (connection, mut member) = world.join();
    let mut own = world.assigned(&mut member);
    own[0].queue.seek(SeekTo::Earliest);
    connection.sever();
    world.cluster.append(&mut one("a")).unwrap();
    let looks = poll_fn(|cx| Poll::Ready(own[0].queue.poll_batch(cx, 10).is_pending()));
    assert!(world.run(looks), "nothing comes over a severed link");
    world.executor.advance(SESSION / 2);
    connection.mend();
    world.executor.advance(SESSION * 2);
    let batch = world.run(poll_fn(|cx| own[0].queue.poll_batch(cx, 10))).unwrap();
    assert_eq!(batch.remaining(), 1);
    world
        .run(member.group().commit(vec![offset(&own[0], 1)]))
        .unwrap();
}

#[test]
fn a_link_that_is_mended_too_late_has_lost_everything_and_joins_anew() {
    let mut world = World::new(1, 1);
    let (connection, mut member) = world.join();
    let mut old = world.assigned(&mut member);
    old[0].queue.seek(SeekTo::Earliest);
    connection.sever();
    world.executor.advance(SESSION * 2);
    connection.mend();
    let Event::Lost(lost) = world.run(member.next_event()) else {
        panic!("not a loss")
    };
    assert_eq!(lost, [(place(0), old[0].ownership)]);
    let new = world.assigned(&mut member);
    assert_ne!(new[0].ownership, old[0].ownership);
    let refused = world
        .run(member.group().commit(vec![offset(&old[0], 1)]))
        .unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost);
    // The queue of the lost assignment is silent, whatever comes.
    world.cluster.append(&mut one("a")).unwrap();
    let looks = poll_fn(|cx| Poll::Ready(old[0].queue.poll_batch(cx, 10).is_pending()));
    assert!(world.run(looks));
}

/// Scenario C21: a queue notices that its topic is another one now.
#[test]
fn c21_a_queue_fails_when_its_topic_is_made_again() {
    let mut world = World::new(1, 1);
    let (_connection, mut member) = world.join();
    let mut own = world.assigned(&mut member);
    own[0].queue.seek(SeekTo::Earliest);
    let mut admin = world.cluster.connect().admin().unwrap();
    world.run(admin.delete(vec!["t".into()])).unwrap();
    world.create("t", 1, &[]).unwrap();
    let error = world
        .run(poll_fn(|cx| own[0].queue.poll_batch(cx, 10)))
        .err()
        .unwrap();
    assert_eq!(error.kind, ClusterErrorKind::UnknownTopic, "{error}");
    // It is asked back, and given anew.
    let Event::Revoked(asked, token) = world.run(member.next_event()) else {
        panic!("not a revocation")
    };
    assert_eq!(asked, [(place(0), own[0].ownership)]);
    drop(token);
    let mut new = world.assigned(&mut member);
    new[0].queue.seek(SeekTo::Earliest);
    world.cluster.append(&mut one("new")).unwrap();
    assert_eq!(
        world
            .run(poll_fn(|cx| new[0].queue.poll_batch(cx, 10)))
            .unwrap()
            .remaining(),
        1
    );
}

#[test]
fn a_queue_without_a_position_says_so() {
    let mut world = World::new(1, 1);
    let (_connection, mut member) = world.join();
    let mut own = world.assigned(&mut member);
    let error = world
        .run(poll_fn(|cx| own[0].queue.poll_batch(cx, 10)))
        .err()
        .unwrap();
    assert_eq!(error.kind, ClusterErrorKind::Fatal);
}

/// Committed offsets are told once they are decided, and a commit may be answered before its markers are written.
#[test]
fn offsets_of_a_transaction_are_waited_for_and_its_marker_may_lag() {
    let mut lags = BTreeSet::new();
    for seed in 0..50 {
        let mut world = World::new(seed, 1);
        let (connection, mut member) = world.join();
        let own = world.assigned(&mut member);
        let transactional_id = Some("id".into());
        let options = ProducerOptions {
            transactional_id,
            ..ProducerOptions::default()
        };
        let mut producer = connection.producer(options).unwrap();
        world.run(producer.init()).unwrap();
        world.run(producer.send(&mut one("a"))).unwrap();
        world
            .run(producer.commit(member.group(), vec![offset(&own[0], 1)]))
            .unwrap();
        let mut reader = connection.reader(Isolation::ReadCommitted).unwrap();
        let marks = world.run(reader.watermarks(place(0))).unwrap();
        lags.insert(marks.stable < Offset::new(2));
        let committed = world.run(member.group().committed(vec![place(0)])).unwrap();
        assert_eq!(
            committed[0].as_ref().map(|offset| offset.next),
            Some(Offset::new(1))
        );
        // Read to the high watermark as asked after the committed offset: then everything is there.
        let end = world.run(reader.watermarks(place(0))).unwrap().latest;
        let (mut next, mut records) = (Offset::ZERO, 0);
        while next < end {
            let read = world.run(reader.read(place(0), next, 10, SESSION)).unwrap();
            (next, records) = (read.next, records + read.batch.remaining());
        }
        assert_eq!(records, 1);
    }
    assert!(lags.contains(&true), "no marker lags in fifty tries");
}

/// Scenario B14: records without a timestamp exist, though no producer of today makes them.
#[test]
fn b14_appended_records_may_have_no_timestamp() {
    let mut world = World::new(1, 1);
    world.cluster.append(&mut one("a")).unwrap();
    let mut reader = world.cluster.connect().reader(Isolation::ReadCommitted).unwrap();
    let read = world
        .run(reader.read(place(0), Offset::ZERO, 10, SESSION))
        .unwrap();
    assert_eq!(read.batch.head(), Some((Offset::ZERO, None)));
}

#[test]
fn topics_are_made_by_producing_only_where_that_is_allowed() {
    let mut world = World::new(1, 1);
    let mut outbox = Outbox::default();
    outbox.push_raw(&"new".into(), &RawRecord::default());
    let mut producer = world
        .cluster
        .connect()
        .producer(ProducerOptions::default())
        .unwrap();
    let error = world.run(producer.send(&mut outbox)).unwrap_err();
    assert_eq!(error.kind, ClusterErrorKind::UnknownTopic);
    assert!(error.message.contains("`new`"), "{error}");

    let clock = Arc::new(world.executor.clock().clone());
    let options = EmbeddedOptions {
        auto_create: Some(3),
        ..EmbeddedOptions::default()
    };
    let cluster = EmbeddedCluster::new(clock, options);
    outbox.push_raw(&"new".into(), &RawRecord::default());
    let mut producer = cluster.connect().producer(ProducerOptions::default()).unwrap();
    world.run(producer.send(&mut outbox)).unwrap();
    world.run(producer.flush()).unwrap();
    let mut admin = cluster.connect().admin().unwrap();
    let found = world.run(admin.describe(vec!["new".into()])).unwrap();
    assert_eq!(found[0].as_ref().unwrap().partitions, 3);
}

#[test]
fn a_compacted_topic_takes_no_null_key() {
    let mut world = World::new(1, 1);
    world
        .create("compacted", 1, &[("cleanup.policy", "compact")])
        .unwrap();
    let mut outbox = Outbox::default();
    outbox.push_raw(
        &"compacted".into(),
        &RawRecord {
            value: Some(b"v"),
            ..RawRecord::default()
        },
    );
    let mut producer = world
        .cluster
        .connect()
        .producer(ProducerOptions::default())
        .unwrap();
    let error = world.run(producer.send(&mut outbox)).unwrap_err();
    assert_eq!(error.kind, ClusterErrorKind::Fatal);
    assert!(error.message.contains("null key"), "{error}");
}

#[test]
fn logs_are_cleaned_at_intervals() {
    let mut executor = Executor::new(1);
    let clock = executor.clock().clone();
    let options = EmbeddedOptions {
        auto_create: Some(1),
        clean_interval: Some(Duration::from_secs(60)),
    };
    let cluster = EmbeddedCluster::new(Arc::new(clock.clone()), options);
    let mut outbox = one("a");
    let long_ago = clock.wall().saturating_sub(Duration::from_secs(8 * 24 * 60 * 60));
    outbox.push_raw(
        &"t".into(),
        &RawRecord {
            timestamp: Some(long_ago),
            ..RawRecord::default()
        },
    );
    for _ in 0..2 {
        cluster.append(&mut outbox).unwrap();
        outbox.push_raw(
            &"t".into(),
            &RawRecord {
                timestamp: Some(Timestamp::EPOCH),
                ..RawRecord::default()
            },
        );
    }
    let mut reader = cluster.connect().reader(Isolation::ReadCommitted).unwrap();
    executor.advance(Duration::from_secs(59));
    let before = executor.run_until(reader.watermarks(place(0))).unwrap().unwrap();
    executor.advance(Duration::from_secs(120));
    let after = executor.run_until(reader.watermarks(place(0))).unwrap().unwrap();
    // The first two came together, and the younger one of them holds both.
    assert_eq!(
        (before.earliest, after.earliest, after.latest),
        (Offset::ZERO, Offset::ZERO, Offset::new(3))
    );
    executor.advance(Duration::from_secs(8 * 24 * 60 * 60));
    let after = executor.run_until(reader.watermarks(place(0))).unwrap().unwrap();
    assert_eq!((after.earliest, after.latest), (Offset::new(3), Offset::new(3)));
}

/// Wakers and destructors may come back to the cluster: nothing foreign runs under its lock.
#[test]
fn wakers_may_use_the_cluster() {
    struct Nosy(EmbeddedCluster, AtomicBool);
    impl std::task::Wake for Nosy {
        fn wake(self: Arc<Self>) {
            self.0.clean();
            self.1.store(true, Ordering::Relaxed);
        }
    }
    impl Drop for Nosy {
        fn drop(&mut self) {
            self.0.clean();
        }
    }
    let driver = super::RealDriver::new(Arc::default()).unwrap();
    let cluster = EmbeddedCluster::new(
        driver,
        EmbeddedOptions {
            auto_create: Some(1),
            ..EmbeddedOptions::default()
        },
    );
    cluster.append(&mut one("a")).unwrap();
    let connection = cluster.connect();
    let request = JoinRequest {
        group: "g".into(),
        topics: vec!["t".into()],
        session_timeout: SESSION,
        revoke_timeout: SESSION,
        isolation: Isolation::ReadCommitted,
        client_id: String::new(),
    };
    let mut member = connection.join(request).unwrap();
    let nosy = || Arc::new(Nosy(cluster.clone(), AtomicBool::new(false)));
    let poll = |member: &mut Box<dyn Member>| {
        let waker = std::task::Waker::from(nosy());
        match member
            .next_event()
            .as_mut()
            .poll(&mut std::task::Context::from_waker(&waker))
        {
            Poll::Ready(Event::Assigned(assignments)) => Some(assignments),
            _ => None,
        }
    };
    let mut own = poll(&mut member).expect("assigned at once");
    assert!(poll(&mut member).is_none());
    own[0].queue.seek(SeekTo::Latest);
    let waiting = nosy();
    for waker in [nosy(), waiting.clone()] {
        let waker = std::task::Waker::from(waker);
        assert!(
            own[0]
                .queue
                .poll_batch(&mut std::task::Context::from_waker(&waker), 1)
                .is_pending()
        );
    }
    cluster.append(&mut one("b")).unwrap();
    assert!(waiting.1.load(Ordering::Relaxed));
    drop(own);
    drop(member);
}
