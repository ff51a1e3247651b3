//! Links that are severed, mended, or lose what is on its way.

use std::sync::Mutex;

use super::*;
use crate::{
    cluster::{
        BoxFuture,
        embedded::{Driver, Fault, Job, Verb},
    },
    testing::clock::SimClock,
};

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
        // The shortest time that the simulation waits for an answer.
        assert!(
            world.now() >= begin + Duration::from_millis(100),
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
    let lost = world.lost(&mut member);
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

/// A zombie goes on reading until it is told: only its commits are refused.
#[test]
fn a_process_that_stood_still_for_too_long_hears_of_its_loss_when_it_goes_on() {
    let mut world = World::new(1, 1);
    let (connection, mut member) = world.join();
    let mut old = world.assigned(&mut member);
    old[0].queue.seek(SeekTo::Earliest);
    connection.freeze();
    world.executor.advance(SESSION * 2);
    world.cluster.append(&mut one("a")).unwrap();
    let reads = poll_fn(|cx| Poll::Ready(old[0].queue.poll_batch(cx, 10).is_ready()));
    assert!(world.run(reads));
    connection.thaw();
    let refused = world
        .run(member.group().commit(vec![offset(&old[0], 1)]))
        .unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost);
    let lost = world.lost(&mut member);
    assert_eq!(lost, [(place(0), old[0].ownership)]);
    assert_ne!(world.assigned(&mut member)[0].ownership, old[0].ownership);
}

#[test]
fn a_member_that_the_group_forgets_has_lost_everything_and_joins_anew() {
    let mut world = World::new(1, 1);
    let (connection, mut member) = world.join();
    let old = world.assigned(&mut member);
    connection.evict();
    let refused = world
        .run(member.group().commit(vec![offset(&old[0], 1)]))
        .unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost);
    let lost = world.lost(&mut member);
    assert_eq!(lost, [(place(0), old[0].ownership)]);
    assert_ne!(world.assigned(&mut member)[0].ownership, old[0].ownership);
}

/// Whether its commit comes before the member is heard again or after.
#[test]
fn a_member_that_does_not_know_yet_that_it_was_forgotten_commits_nothing() {
    for seed in 0..20 {
        let mut world = World::new(seed, 1);
        let (connection, mut member) = world.join();
        let old = world.assigned(&mut member);
        let (_, _other) = world.join();
        connection.evict();
        let refused = world
            .run(member.group().commit(vec![offset(&old[0], 1)]))
            .unwrap_err();
        assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost);
    }
}

/// A driver whose requests go wrong by a script.
struct Faulty {
    clock: SimClock,
    script: Mutex<Vec<(Verb, Fault)>>,
}

impl Driver for Faulty {
    fn run_at(&self, due: Duration, job: Job) {
        self.clock.run_at(due, job);
    }

    fn latency(&self) -> Option<Duration> {
        self.clock.latency()
    }

    fn fault(&self, verb: Verb) -> Option<Fault> {
        let mut script = self.script.lock().unwrap();
        let next = script.iter().position(|(of, _)| *of == verb)?;
        Some(script.remove(next).1)
    }
}

impl Clock for Faulty {
    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
        self.clock.sleep_until(due)
    }

    fn random(&self) -> u64 {
        self.clock.random()
    }
}

/// A commit that is refused, one that is lost, one whose answer is lost: the latter two look alike.
#[test]
fn requests_go_wrong_as_the_driver_says() {
    let executor = Executor::new(1);
    let script = [
        (Verb::Commit, Fault::Refuse(ClusterErrorKind::Retriable)),
        (Verb::Commit, Fault::LoseRequest),
        (Verb::Commit, Fault::LoseAnswer),
    ];
    let faulty = Faulty {
        clock: executor.clock().clone(),
        script: Mutex::new(script.into()),
    };
    let options = EmbeddedOptions {
        auto_create: Some(1),
        ..EmbeddedOptions::default()
    };
    let cluster = EmbeddedCluster::new(Arc::new(faulty), options);
    let mut world = World { executor, cluster };
    world.create("t", 1, &[]).unwrap();
    let (_connection, mut member) = world.join();
    let own = world.assigned(&mut member);
    let expected = [
        (Some(ClusterErrorKind::Retriable), None),
        (Some(ClusterErrorKind::Unknown), None),
        (Some(ClusterErrorKind::Unknown), Some(3)),
        (None, Some(4)),
    ];
    for (next, expected) in (1..).zip(expected) {
        let outcome = world.run(member.group().commit(vec![offset(&own[0], next)]));
        assert_eq!(
            (outcome.err().map(|error| error.kind), world.committed()),
            expected,
            "commit {next}"
        );
    }
}

/// What is lost on the way to the cluster is not written, and `flush` does not say that it was.
#[test]
fn b23_a_produce_request_that_is_lost_is_not_written() {
    for (fault, written) in [
        (Fault::LoseRequest, 0),
        (Fault::LoseAnswer, 1),
        (Fault::Refuse(ClusterErrorKind::Fatal), 0),
    ] {
        let executor = Executor::new(1);
        let script = Mutex::new(vec![(Verb::Produce, fault)]);
        let faulty = Faulty {
            clock: executor.clock().clone(),
            script,
        };
        let cluster = EmbeddedCluster::new(Arc::new(faulty), EmbeddedOptions::default());
        let mut world = World { executor, cluster };
        world.create("t", 1, &[]).unwrap();
        let mut producer = world
            .cluster
            .connect()
            .producer(ProducerOptions::default())
            .unwrap();
        world.run(producer.send(&mut one("a"))).unwrap();
        world.run(producer.flush()).unwrap_err();
        let mut reader = world.cluster.connect().reader(Isolation::ReadCommitted).unwrap();
        assert_eq!(
            world.run(reader.watermarks(place(0))).unwrap().latest,
            Offset::new(written),
            "{fault:?}"
        );
    }
}
