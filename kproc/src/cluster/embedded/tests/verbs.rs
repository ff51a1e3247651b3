//! What the cluster's own verbs promise, beyond what every cluster does.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

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

/// Also if the marker of the first one is written after the second one: Kafka goes by the order in its log of offsets.
#[test]
fn the_offset_that_was_committed_last_stays() {
    for seed in 0..50 {
        let mut world = World::new(seed, 1);
        let (connection, mut member) = world.join();
        let own = world.assigned(&mut member);
        let mut producer = connection
            .producer(ProducerOptions {
                transactional_id: Some("id".into()),
                ..ProducerOptions::default()
            })
            .unwrap();
        world.run(producer.init()).unwrap();
        world.run(producer.send(&mut one("a"))).unwrap();
        let group = member.group();
        world
            .run(producer.commit(group.clone(), vec![offset(&own[0], 1)]))
            .unwrap();
        world.run(group.commit(vec![offset(&own[0], 2)])).unwrap();
        let committed = world.run(group.committed(vec![place(0)])).unwrap();
        let next = committed[0].as_ref().map(|offset| offset.next);
        assert_eq!(next, Some(Offset::new(2)), "seed {seed}");
    }
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
    let driver = crate::cluster::embedded::RealDriver::new(Arc::default()).unwrap();
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
        heartbeat_interval: None,
        revoke_timeout: SESSION,
        isolation: Isolation::ReadCommitted,
        read_ahead: None,
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
