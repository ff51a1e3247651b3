//! Readers outside any group.

use std::time::Duration;

use kproc::cluster::{ClusterErrorKind, Isolation, ProducerOptions, Watermarks};
use kproc::outbox::Outbox;

use crate::harness::{Seen, World, at, pair, part, texts, value_in};

pub(crate) async fn watermarks_move(world: &World) {
    let topic = world.topic(1).await;
    let mut reader = world.connect().reader(Isolation::ReadCommitted).unwrap();
    let marks = world.within(reader.watermarks(part(&topic, 0))).await.unwrap();
    assert_eq!(
        marks,
        Watermarks {
            earliest: at(0),
            stable: at(0),
            latest: at(0)
        }
    );

    world
        .produce(&topic, &[value_in(0, "a"), value_in(0, "b"), value_in(0, "c")])
        .await;
    let marks = world.within(reader.watermarks(part(&topic, 0))).await.unwrap();
    assert_eq!(
        marks,
        Watermarks {
            earliest: at(0),
            stable: at(3),
            latest: at(3)
        }
    );

    let mut admin = world.connect().admin().unwrap();
    world
        .within(admin.delete_records(vec![(part(&topic, 0), at(2))]))
        .await
        .unwrap();
    let marks = world.within(reader.watermarks(part(&topic, 0))).await.unwrap();
    assert_eq!(
        marks,
        Watermarks {
            earliest: at(2),
            stable: at(3),
            latest: at(3)
        }
    );

    let error = world
        .within(reader.watermarks(part(&world.name("none"), 0)))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ClusterErrorKind::UnknownTopic, "{error}");
    let error = world
        .within(reader.watermarks(part(&topic, 1)))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ClusterErrorKind::UnknownTopic, "{error}");
}

pub(crate) async fn an_empty_partition_reads_empty(world: &World) {
    let topic = world.topic(1).await;
    let mut reader = world.connect().reader(Isolation::ReadCommitted).unwrap();
    let (begin, wait) = (world.clock.now(), Duration::from_millis(20));
    let read = world
        .within(reader.read(part(&topic, 0), at(0), 10, wait))
        .await
        .unwrap();
    assert_eq!((read.batch.remaining(), read.next), (0, at(0)));
    assert!(world.clock.now() >= begin + wait, "it waited");
    assert_eq!(world.read_all(part(&topic, 0)).await, []);
}

/// Scenario C22: what is not there is an error, before the start and after the end.
pub(crate) async fn c22_readers_do_not_jump(world: &World) {
    let topic = world.topic(1).await;
    world
        .produce(&topic, &[value_in(0, "a"), value_in(0, "b"), value_in(0, "c")])
        .await;
    let mut admin = world.connect().admin().unwrap();
    world
        .within(admin.delete_records(vec![(part(&topic, 0), at(2))]))
        .await
        .unwrap();
    let mut reader = world.connect().reader(Isolation::ReadCommitted).unwrap();
    let wait = world.harness.patience() / 2;
    for from in [0, 1, 4] {
        let outcome = world
            .within(reader.read(part(&topic, 0), at(from), 10, wait))
            .await;
        let error = outcome.err().unwrap_or_else(|| panic!("{from} was read"));
        assert_eq!(error.kind, ClusterErrorKind::OffsetOutOfRange, "{from}: {error}");
    }
    let read = world
        .within(reader.read(part(&topic, 0), at(2), 10, wait))
        .await
        .unwrap();
    assert_eq!(texts(&Seen::all(read.batch)), ["c"]);
}

pub(crate) async fn reading_waits_for_records(world: &World) {
    let topic = world.topic(1).await;
    let mut reader = world.connect().reader(Isolation::ReadCommitted).unwrap();
    let mut producer = world.connect().producer(ProducerOptions::default()).unwrap();
    let mut outbox = Outbox::default();
    outbox.push_raw(&topic, &value_in(0, "late"));
    let read = reader.read(part(&topic, 0), at(0), 10, world.harness.patience());
    let write = async {
        world
            .clock
            .sleep_until(world.clock.now() + Duration::from_millis(30))
            .await;
        producer.send(&mut outbox).await.unwrap();
        producer.flush().await.unwrap();
    };
    let (read, ()) = world.within(futures_util::future::join(read, write)).await;
    let read = read.unwrap();
    assert_eq!(read.next, at(1));
    assert_eq!(texts(&Seen::all(read.batch)), ["late"]);
}

pub(crate) async fn max_is_kept(world: &World) {
    let topic = world.topic(1).await;
    for values in [["a", "b", "c"], ["d", "e", "f"]] {
        world
            .produce(&topic, &values.map(|value| value_in(0, value)))
            .await;
    }
    let mut reader = world.connect().reader(Isolation::ReadUncommitted).unwrap();
    let (mut next, mut seen) = (at(1), vec![]);
    while seen.len() < 5 {
        let read = world
            .within(reader.read(part(&topic, 0), next, 2, world.harness.patience()))
            .await
            .unwrap();
        assert!((1..=2).contains(&read.batch.remaining()));
        assert_eq!(read.next.since(next), read.batch.remaining() as u64);
        next = read.next;
        seen.extend(Seen::all(read.batch));
    }
    assert_eq!(texts(&seen), ["b", "c", "d", "e", "f"]);
}

/// Scenario D05: positions pass ranges that compaction has emptied, wherever reading begins.
pub(crate) async fn d05_readers_pass_compacted_ranges(world: &World) {
    // As eager as a cleaner can be made.
    let settings = [
        ("cleanup.policy", "compact"),
        ("min.cleanable.dirty.ratio", "0.0001"),
        ("segment.ms", "50"),
        ("delete.retention.ms", "0"),
    ];
    let topic = world.topic_with(1, &settings).await;
    let place = part(&topic, 0);
    for round in 0..10 {
        world
            .produce(
                &topic,
                &["a", "b", "c"].map(|key| pair(key, if round < 9 { "old" } else { "new" })),
            )
            .await;
    }
    let patience = world.clock.now() + world.harness.patience();
    let mut round = 0;
    let seen = loop {
        // A cleaner may spare the youngest records.
        world.produce(&topic, &[pair("last", "last")]).await;
        round += 1;
        world.harness.clean();
        let seen = world.read_all(place.clone()).await;
        if seen.iter().all(|record| record.text() != "old") {
            break seen;
        }
        assert!(world.clock.now() < patience, "not cleaned: {seen:?}");
        world
            .clock
            .sleep_until(world.clock.now() + Duration::from_millis(100))
            .await;
    };
    assert_eq!(
        seen[..3].iter().map(|record| record.offset).collect::<Vec<_>>(),
        [27, 28, 29]
    );
    let mut reader = world.connect().reader(Isolation::ReadCommitted).unwrap();
    let marks = world.within(reader.watermarks(place.clone())).await.unwrap();
    assert_eq!((marks.earliest, marks.latest), (at(0), at(30 + round)));
    for from in [1, 13, 26, 27] {
        let read = world
            .within(reader.read(place.clone(), at(from), 1, world.harness.patience()))
            .await
            .unwrap();
        assert_eq!(Seen::all(read.batch)[0].offset, 27, "from {from}");
        assert!(read.next >= at(28));
    }
}
