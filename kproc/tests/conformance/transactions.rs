//! Transactions: all or nothing, for records and offsets, and one producer for an id.

use std::{sync::Arc, time::Duration};

use kproc::{
    TopicPartition,
    cluster::{
        Cluster, ClusterErrorKind, CommittedOffset, Group, Isolation, Positions, Producer, ProducerOptions,
        Watermarks,
    },
    outbox::Outbox,
};

use crate::{
    harness::{Seen, World, at, part, texts, value_in},
    peer::{Peer, settle},
};

pub(crate) async fn producer_with(
    world: &World,
    id: &Arc<str>,
    timeout: Option<Duration>,
) -> Box<dyn Producer> {
    let transactional_id = Some(id.to_string());
    let options = ProducerOptions {
        transactional_id,
        transaction_timeout: timeout,
        ..ProducerOptions::default()
    };
    let mut producer = world.connect().producer(options).unwrap();
    world.within(producer.init()).await.unwrap();
    producer
}

pub(crate) async fn producer(world: &World) -> Box<dyn Producer> {
    producer_with(world, &world.name("id"), None).await
}

/// Hands over records, and waits until they are written.
pub(crate) async fn write(
    world: &World,
    producer: &mut dyn Producer,
    place: &TopicPartition,
    values: &[&str],
) -> Positions {
    let mut outbox = Outbox::default();
    for value in values {
        outbox.push_raw(&place.topic, &value_in(place.partition.get(), value));
    }
    world.within(producer.send(&mut outbox)).await.unwrap();
    world.within(producer.flush()).await.unwrap()
}

pub(crate) async fn watermarks(world: &World, place: &TopicPartition) -> Watermarks {
    let mut reader = world.connect().reader(Isolation::ReadUncommitted).unwrap();
    world.within(reader.watermarks(place.clone())).await.unwrap()
}

/// Waits until the last stable offset is that: markers are written after the answer to a commit.
pub(crate) async fn until_stable(world: &World, place: &TopicPartition, stable: u64) {
    let patience = world.clock.now() + world.harness.patience();
    loop {
        let marks = watermarks(world, place).await;
        if marks.stable == at(stable) {
            return;
        }
        assert!(world.clock.now() < patience, "{marks:?}, {stable} expected");
        world
            .clock
            .sleep_until(world.clock.now() + Duration::from_millis(5))
            .await;
    }
}

/// Everything there is, committed or not.
async fn read_uncommitted(world: &World, place: &TopicPartition) -> Vec<String> {
    let end = watermarks(world, place).await.latest;
    let mut reader = world.connect().reader(Isolation::ReadUncommitted).unwrap();
    let (mut next, mut seen) = (at(0), vec![]);
    while next < end {
        let read = world
            .within(reader.read(place.clone(), next, 100, world.harness.patience()))
            .await
            .unwrap();
        next = read.next;
        seen.extend(Seen::all(read.batch));
    }
    texts(&seen)
}

/// A group without members to speak of, for transactions without offsets.
fn no_group(world: &World, topic: &Arc<str>) -> (Peer, Arc<dyn Group>) {
    let peer = Peer::join(world, world.join(&world.name("group"), &[topic]));
    let group = peer.group.clone();
    (peer, group)
}

pub(crate) async fn records_are_seen_when_committed(world: &World) {
    let place = part(&world.topic(1).await, 0);
    let (_peer, group) = no_group(world, &place.topic);
    let mut producer = producer(world).await;
    assert_eq!(
        write(world, &mut *producer, &place, &["a", "b"]).await,
        [(place.clone(), at(2))]
    );
    let marks = watermarks(world, &place).await;
    assert_eq!(
        marks,
        Watermarks {
            earliest: at(0),
            stable: at(0),
            latest: at(2)
        }
    );
    assert_eq!(world.read_all(place.clone()).await, []);
    assert_eq!(read_uncommitted(world, &place).await, ["a", "b"]);

    world.within(producer.commit(group, vec![])).await.unwrap();
    // The marker has an offset of its own.
    until_stable(world, &place, 3).await;
    assert_eq!(texts(&world.read_all(place.clone()).await), ["a", "b"]);
    assert_eq!(
        write(world, &mut *producer, &place, &["c"]).await,
        [(place, at(4))]
    );
}

/// Scenario E13: a reader passes what was aborted, also at the end.
pub(crate) async fn e13_aborted_records_are_passed(world: &World) {
    let place = part(&world.topic(1).await, 0);
    let (_peer, group) = no_group(world, &place.topic);
    let mut producer = producer(world).await;
    write(world, &mut *producer, &place, &["gone"; 100]).await;
    world.within(producer.abort()).await.unwrap();
    until_stable(world, &place, 101).await;
    assert_eq!(world.read_all(place.clone()).await, []);

    write(world, &mut *producer, &place, &["kept"]).await;
    world.within(producer.commit(group, vec![])).await.unwrap();
    until_stable(world, &place, 103).await;
    let seen = world.read_all(place.clone()).await;
    assert_eq!((texts(&seen), seen[0].offset), (vec!["kept".into()], 101));
    assert_eq!(read_uncommitted(world, &place).await.len(), 101);
}

/// Scenario E01: a transaction in which nothing happened, and one with nothing but offsets.
pub(crate) async fn e01_empty_transactions(world: &World) {
    let topic = world.topic(1).await;
    let place = part(&topic, 0);
    let mut peer = Peer::join(world, world.join(&world.name("group"), &[&topic]));
    settle(world, &mut [&mut peer], |peers| peers[0].owned.len() == 1).await;
    let mut producer = producer(world).await;
    for _ in 0..3 {
        assert_eq!(
            world
                .within(producer.commit(peer.group.clone(), vec![]))
                .await
                .unwrap(),
            []
        );
        world.within(producer.abort()).await.unwrap();
    }
    let offsets = vec![peer.offset(&place, 5, "time")];
    assert_eq!(
        world
            .within(producer.commit(peer.group.clone(), offsets))
            .await
            .unwrap(),
        []
    );
    let committed = world
        .within(peer.group.committed(vec![place.clone()]))
        .await
        .unwrap();
    assert_eq!(
        committed,
        [Some(CommittedOffset {
            next: at(5),
            metadata: "time".into()
        })]
    );
    assert_eq!(
        watermarks(world, &place).await.latest,
        at(0),
        "no marker where nothing was written"
    );
}

pub(crate) async fn records_and_offsets_go_together(world: &World) {
    let (topic, output) = (world.topic(1).await, world.topic(2).await);
    let place = part(&topic, 0);
    let mut peer = Peer::join(world, world.join(&world.name("group"), &[&topic]));
    settle(world, &mut [&mut peer], |peers| peers[0].owned.len() == 1).await;
    let mut producer = producer(world).await;
    for (round, commits) in [(1, false), (2, true), (3, false), (4, true)] {
        let value = round.to_string();
        for number in 0..2 {
            write(world, &mut *producer, &part(&output, number), &[&value]).await;
        }
        if commits {
            let offsets = vec![peer.offset(&place, round, &value)];
            world
                .within(producer.commit(peer.group.clone(), offsets))
                .await
                .unwrap();
        } else {
            world.within(producer.abort()).await.unwrap();
        }
        let committed = world
            .within(peer.group.committed(vec![place.clone()]))
            .await
            .unwrap();
        let last = if commits { round } else { round - 1 };
        let expected = (last > 0).then(|| CommittedOffset {
            next: at(last),
            metadata: last.to_string(),
        });
        assert_eq!(committed, [expected], "round {round}");
    }
    for number in 0..2 {
        until_stable(world, &part(&output, number), 8).await;
        assert_eq!(texts(&world.read_all(part(&output, number)).await), ["2", "4"]);
    }
}

/// The offsets of a lost partition are refused; the transaction is aborted, and the producer lives on (KIP-447).
pub(crate) async fn offsets_of_lost_partitions_are_refused(world: &World) {
    let (topic, output) = (world.topic(2).await, world.topic(1).await);
    let out = part(&output, 0);
    let request = world.join(&world.name("group"), &[&topic]);
    let mut one = Peer::join(world, request.clone());
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;
    let stale: Vec<_> = one
        .parts()
        .iter()
        .map(|place| one.offset(place, 1, "stale"))
        .collect();
    let mut two = Peer::join(world, request);
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 1)
    })
    .await;

    let mut producer = producer(world).await;
    write(world, &mut *producer, &out, &["stale"]).await;
    let refused = world
        .within(producer.commit(one.group.clone(), stale.clone()))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost, "{refused}");
    // It cannot be committed without them either.
    let refused = world
        .within(producer.commit(one.group.clone(), vec![]))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::AbortTransaction, "{refused}");
    world.within(producer.abort()).await.unwrap();

    write(world, &mut *producer, &out, &["fresh"]).await;
    let own: Vec<_> = stale
        .into_iter()
        .filter(|offset| one.has(&offset.partition))
        .collect();
    world
        .within(producer.commit(one.group.clone(), own))
        .await
        .unwrap();
    until_stable(world, &out, 4).await;
    assert_eq!(texts(&world.read_all(out).await), ["fresh"]);
}

/// A record that cannot be written poisons its transaction: what is left of it must not be committed.
pub(crate) async fn b23_a_record_that_fails_poisons_the_transaction(world: &World) {
    let topic = world.topic(1).await;
    let place = part(&topic, 0);
    let (_peer, group) = no_group(world, &topic);
    let mut producer = producer(world).await;
    let mut outbox = Outbox::default();
    outbox.push_raw(&topic, &value_in(0, "good"));
    outbox.push_raw(&topic, &value_in(9, "nowhere"));
    let sent = world.within(producer.send(&mut outbox)).await;
    let outcome = sent.and(world.within(producer.flush()).await.map(drop));
    assert_eq!(outcome.unwrap_err().kind, ClusterErrorKind::UnknownTopic);
    let refused = world
        .within(producer.commit(group.clone(), vec![]))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::AbortTransaction, "{refused}");
    world.within(producer.abort()).await.unwrap();

    let written = write(world, &mut *producer, &place, &["again"]).await;
    world.within(producer.commit(group, vec![])).await.unwrap();
    until_stable(world, &place, written[0].1.get() + 1).await;
    assert_eq!(texts(&world.read_all(place).await), ["again"]);
}

/// Scenario E14: the next producer of an id aborts what the last one left open, and fences it.
pub(crate) async fn e14_init_aborts_and_fences(world: &World) {
    let place = part(&world.topic(1).await, 0);
    let (_peer, group) = no_group(world, &place.topic);
    let id = world.name("id");
    let mut old = producer_with(world, &id, None).await;
    write(world, &mut *old, &place, &["old"]).await;
    let mut new = producer_with(world, &id, None).await;
    until_stable(world, &place, 2).await;
    write(world, &mut *new, &place, &["new"]).await;

    let fenced = world.within(old.commit(group.clone(), vec![])).await.unwrap_err();
    assert_eq!(fenced.kind, ClusterErrorKind::Fenced, "{fenced}");
    let mut outbox = Outbox::default();
    outbox.push_raw(&place.topic, &value_in(0, "zombie"));
    let sent = world.within(old.send(&mut outbox)).await;
    let outcome = sent.and(world.within(old.flush()).await.map(drop));
    assert_eq!(outcome.unwrap_err().kind, ClusterErrorKind::Fenced);

    world.within(new.commit(group, vec![])).await.unwrap();
    until_stable(world, &place, 4).await;
    assert_eq!(texts(&world.read_all(place).await), ["new"]);
}

/// A transaction that takes too long is aborted, and its producer learns it.
pub(crate) async fn e09_a_transaction_times_out(world: &World) {
    let place = part(&world.topic(1).await, 0);
    let (_peer, group) = no_group(world, &place.topic);
    let id = world.name("id");
    let mut slow = producer_with(world, &id, Some(world.harness.session_timeout())).await;
    write(world, &mut *slow, &place, &["slow"]).await;
    until_stable(world, &place, 2).await;
    assert_eq!(world.read_all(place.clone()).await, []);
    let fenced = world
        .within(slow.commit(group.clone(), vec![]))
        .await
        .unwrap_err();
    assert_eq!(fenced.kind, ClusterErrorKind::Fenced, "{fenced}");

    let mut next = producer_with(world, &id, None).await;
    write(world, &mut *next, &place, &["next"]).await;
    world.within(next.commit(group, vec![])).await.unwrap();
    until_stable(world, &place, 4).await;
    assert_eq!(texts(&world.read_all(place).await), ["next"]);
}

pub(crate) async fn an_undecided_transaction_holds_what_comes_after(world: &World) {
    let place = part(&world.topic(1).await, 0);
    let (_peer, group) = no_group(world, &place.topic);
    let (mut one, mut two) = (producer(world).await, producer(world).await);
    write(world, &mut *one, &place, &["one"]).await;
    write(world, &mut *two, &place, &["two"]).await;
    world.within(two.commit(group.clone(), vec![])).await.unwrap();
    world.produce(&place.topic, &[value_in(0, "plain")]).await;
    assert_eq!(watermarks(world, &place).await.stable, at(0));
    assert_eq!(world.read_all(place.clone()).await, []);
    world.within(one.commit(group, vec![])).await.unwrap();
    until_stable(world, &place, 5).await;
    assert_eq!(texts(&world.read_all(place).await), ["one", "two", "plain"]);
}

pub(crate) async fn a_producer_without_an_id_has_no_transactions(world: &World) {
    let topic = world.topic(1).await;
    let (_peer, group) = no_group(world, &topic);
    let cluster: Arc<dyn Cluster> = world.connect();
    let mut plain = cluster.producer(ProducerOptions::default()).unwrap();
    let refused = world.within(plain.commit(group, vec![])).await.unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::Unsupported);
}
