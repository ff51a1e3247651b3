//! What a transactional producer hears that has been replaced, or has taken too long, and what the next one can do; and
//! that what was committed is heard at once.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use kproc::{
    TopicPartition,
    cluster::{Cluster, ClusterError, ClusterErrorKind, Isolation, Producer, ProducerOptions},
    outbox::Outbox,
};

use crate::{
    harness::{World, at, part, texts, value_in},
    peer::{Peer, settle},
    transactions::{producer, producer_with, until_stable, watermarks, write},
};

/// Hands over records; the error of that, or of writing them.
async fn try_write(
    world: &World,
    producer: &mut dyn Producer,
    place: &TopicPartition,
) -> Result<(), ClusterError> {
    let mut outbox = Outbox::default();
    outbox.push_raw(&place.topic, &value_in(place.partition.get(), "zombie"));
    world.within(producer.send(&mut outbox)).await?;
    world.within(producer.flush()).await.map(drop)
}

/// Waits until all that was written is decided, markers and all.
async fn until_settled(world: &World, place: &TopicPartition) {
    let patience = world.clock.now() + world.harness.patience();
    loop {
        let marks = watermarks(world, place).await;
        if marks.stable == marks.latest {
            return;
        }
        assert!(world.clock.now() < patience, "{marks:?}");
        let soon = world.clock.now() + Duration::from_millis(5);
        world.clock.sleep_until(soon).await;
    }
}

/// A member that has everything, and its partition.
async fn sole(world: &World) -> (Peer, TopicPartition) {
    let topic = world.topic(1).await;
    let mut peer = Peer::join(world, world.join(&world.name("group"), &[&topic]));
    settle(world, &mut [&mut peer], |peers| peers[0].owned.len() == 1).await;
    (peer, part(&topic, 0))
}

/// Whatever step it is at when a newer one comes: it is told, and nothing of it is seen.
pub(crate) async fn e09_a_replaced_producer_is_told_at_every_step(world: &World) {
    let (peer, place) = sole(world).await;
    let out = part(&world.topic(1).await, 0);
    let id = world.name("id");
    for step in ["begin", "offsets", "commit", "abort"] {
        let mut old = producer_with(world, &id, None).await;
        if step != "begin" {
            write(world, &mut *old, &out, &["old"]).await;
        }
        let mut new = producer_with(world, &id, None).await;
        let group = peer.group.clone();
        let told = match step {
            "begin" => try_write(world, &mut *old, &out).await,
            "offsets" => {
                let offsets = vec![peer.offset(&place, 1, "old")];
                world.within(old.commit(group, offsets)).await.map(drop)
            }
            "commit" => world.within(old.commit(group, vec![])).await.map(drop),
            _ => world.within(old.abort()).await,
        };
        let told = told.expect_err(step);
        assert_eq!(told.kind, ClusterErrorKind::Fenced, "{step}: {told}");
        // It is of no more use.
        let again = try_write(world, &mut *old, &out).await.expect_err(step);
        assert_eq!(again.kind, ClusterErrorKind::Fenced, "{step}: {again}");

        write(world, &mut *new, &out, &[step]).await;
        world
            .within(new.commit(peer.group.clone(), vec![]))
            .await
            .unwrap();
    }
    until_settled(world, &out).await;
    assert_eq!(
        texts(&world.read_all(out).await),
        ["begin", "offsets", "commit", "abort"]
    );
    let committed = world.within(peer.group.committed(vec![place])).await.unwrap();
    assert_eq!(committed, [None]);
}

/// Scenario E02: an abort that comes after the brokers' own says so, or does nothing; the next producer goes on.
pub(crate) async fn e02_an_abort_after_a_time_out(world: &World) {
    let (peer, _) = sole(world).await;
    let out = part(&world.topic(1).await, 0);
    let id = world.name("id");
    let mut slow = producer_with(world, &id, Some(world.harness.session_timeout())).await;
    write(world, &mut *slow, &out, &["slow"]).await;
    until_stable(world, &out, 2).await;
    if let Err(error) = world.within(slow.abort()).await {
        let kinds = [ClusterErrorKind::Fenced, ClusterErrorKind::ProducerFailed];
        assert!(kinds.contains(&error.kind), "{error}");
    }
    let mut next = producer_with(world, &id, None).await;
    write(world, &mut *next, &out, &["next"]).await;
    world
        .within(next.commit(peer.group.clone(), vec![]))
        .await
        .unwrap();
    until_stable(world, &out, 4).await;
    assert_eq!(texts(&world.read_all(out).await), ["next"]);
}

/// Scenario E02: nothing of it has left when it is aborted; the producer lives on, and commits the next one.
pub(crate) async fn e02_an_abort_of_what_never_left(world: &World) {
    let (peer, _) = sole(world).await;
    let out = part(&world.topic(1).await, 0);
    let mut producer = producer(world).await;
    for _ in 0..3 {
        let mut outbox = Outbox::default();
        outbox.push_raw(&out.topic, &value_in(0, "gone"));
        // Handed over, and not waited for.
        world.within(producer.send(&mut outbox)).await.unwrap();
        world.within(producer.abort()).await.unwrap();
    }
    write(world, &mut *producer, &out, &["kept"]).await;
    world
        .within(producer.commit(peer.group.clone(), vec![]))
        .await
        .unwrap();
    until_settled(world, &out).await;
    assert_eq!(texts(&world.read_all(out).await), ["kept"]);
}

/// Whoever does not wait for `init` and asks again fences nobody: it is the same request.
pub(crate) async fn init_that_is_asked_for_again_is_the_same(world: &World) {
    let (peer, _) = sole(world).await;
    let out = part(&world.topic(1).await, 0);
    let options = ProducerOptions {
        transactional_id: Some(world.name("id").to_string()),
        ..ProducerOptions::default()
    };
    let mut producer = world.connect().producer(options).unwrap();
    // Some clusters answer at once.
    let at_once = (0..3).find_map(|_| producer.init().now_or_never());
    match at_once {
        Some(answer) => answer.unwrap(),
        None => world.within(producer.init()).await.unwrap(),
    }
    for value in ["one", "two"] {
        write(world, &mut *producer, &out, &[value]).await;
        world
            .within(producer.commit(peer.group.clone(), vec![]))
            .await
            .unwrap();
    }
    until_stable(world, &out, 4).await;
    assert_eq!(texts(&world.read_all(out).await), ["one", "two"]);
}

/// A time-out beyond `transaction.max.timeout.ms` is refused, and the words say what to set.
pub(crate) async fn e06_a_time_out_beyond_the_brokers_is_refused(world: &World) {
    let options = ProducerOptions {
        transactional_id: Some(world.name("id").to_string()),
        transaction_timeout: Some(Duration::from_secs(901)),
        ..ProducerOptions::default()
    };
    let cluster: Arc<dyn Cluster> = world.connect();
    let mut producer = cluster.producer(options).unwrap();
    let refused = world.within(producer.init()).await.unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::Fatal, "{refused}");
    for part in ["transaction.max.timeout.ms", "transaction_timeout"] {
        assert!(refused.message.contains(part), "{refused}");
    }
}

/// KIP-447: who has left the group commits nothing more; the transaction is aborted, and the producer lives on.
pub(crate) async fn offsets_of_a_member_that_has_left_are_refused(world: &World) {
    let (peer, place) = sole(world).await;
    let out = part(&world.topic(1).await, 0);
    let mut producer = producer(world).await;
    write(world, &mut *producer, &out, &["stale"]).await;
    let (group, offsets) = (peer.group.clone(), vec![peer.offset(&place, 1, "stale")]);
    peer.leave(world).await;
    let refused = world
        .within(producer.commit(group.clone(), offsets))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost, "{refused}");
    world.within(producer.abort()).await.unwrap();
    write(world, &mut *producer, &out, &["fresh"]).await;
    world.within(producer.commit(group, vec![])).await.unwrap();
    until_stable(world, &out, 4).await;
    assert_eq!(texts(&world.read_all(out).await), ["fresh"]);
}

/// A commit is answered before its markers are written. Whoever asks for the offsets then gets the new ones all the same,
/// and finds the records below the high watermark that is asked for after that.
pub(crate) async fn what_was_committed_is_heard_at_once(world: &World) {
    let (peer, place) = sole(world).await;
    let out = part(&world.topic(1).await, 0);
    let mut producer = producer(world).await;
    let mut reader = world.connect().reader(Isolation::ReadUncommitted).unwrap();
    for round in 1..=20 {
        write(world, &mut *producer, &out, &["x"]).await;
        let offsets = vec![peer.offset(&place, round, "")];
        world
            .within(producer.commit(peer.group.clone(), offsets))
            .await
            .unwrap();
        let asked = peer.group.committed(vec![place.clone()]);
        let committed = world.within(asked).await.unwrap();
        let next = committed[0].as_ref().map(|committed| committed.next);
        assert_eq!(next, Some(at(round)));
        let marks = world.within(reader.watermarks(out.clone())).await.unwrap();
        // The record of each round, and the markers of those before.
        assert!(marks.latest >= at(2 * round - 1), "round {round}: {marks:?}");
    }
}
