//! Queues of assigned partitions.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use kproc::{
    Offset, TopicPartition,
    cluster::{ClusterErrorKind, Queue, SeekTo},
};

use crate::{
    harness::{World, at, part, texts, value_in},
    peer::{Peer, next_batch, settle},
    transactions,
};

/// A member that has the only partition of a topic.
async fn sole(world: &World) -> (Peer, TopicPartition) {
    let (topic, group) = (world.topic(1).await, world.name("group"));
    let mut peer = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut peer], |peers| peers[0].owned.len() == 1).await;
    (peer, part(&topic, 0))
}

async fn write(world: &World, place: &TopicPartition, values: impl IntoIterator<Item = usize>) {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    let records: Vec<_> = values
        .iter()
        .map(|value| value_in(place.partition.get(), value))
        .collect();
    world.produce(&place.topic, &records).await;
}

/// Polls until the queue says what is expected of it.
async fn until(world: &World, queue: &mut dyn Queue, done: impl Fn(&dyn Queue) -> bool) {
    let patience = world.clock.now() + world.harness.patience();
    while !done(queue) {
        assert!(
            world.clock.now() < patience,
            "position {:?}, end {:?}",
            queue.position(),
            queue.known_end()
        );
        let now = poll_fn(|cx| Poll::Ready(queue.poll_batch(cx, 1).is_ready())).await;
        assert!(!now, "there is nothing to read");
        world
            .clock
            .sleep_until(world.clock.now() + Duration::from_millis(1))
            .await;
    }
}

pub(crate) async fn records_arrive_in_order(world: &World) {
    let (mut peer, place) = sole(world).await;
    write(world, &place, 0..500).await;
    write(world, &place, 500..1000).await;
    let queue = peer.queue(&place);
    assert_eq!((queue.position(), queue.known_end()), (None, None));
    queue.seek(SeekTo::Earliest);
    let seen = peer.take_records(world, &place, 1000).await;
    assert!(
        seen.iter()
            .zip(0..)
            .all(|(record, number)| record.offset == number && record.text() == number.to_string())
    );
    assert_eq!(peer.queue(&place).position(), Some(at(1000)));
}

/// A waker that was stored when there was nothing is called when there is something: nobody looks meanwhile.
pub(crate) async fn the_waker_wakes(world: &World) {
    let (mut peer, place) = sole(world).await;
    peer.queue(&place).seek(SeekTo::Earliest);
    for round in 0..3 {
        let woken = Woken::by(peer.queue(&place));
        write(world, &place, [round]).await;
        woken.wait(world).await;
        assert_eq!(
            texts(&peer.take_records(world, &place, 1).await),
            [round.to_string()]
        );
    }
}

/// A queue may outlive its assignment, and see the partition come back: its successor is left alone.
pub(crate) async fn an_old_queue_takes_nothing_from_its_successor(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let request = world.join(&group, &[&topic]);
    let mut one = Peer::join(world, request.clone());
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;
    one.holds = true;
    let mut two = Peer::join(world, request);
    settle(world, &mut [&mut one, &mut two], |peers| {
        !peers[0].held.is_empty()
    })
    .await;
    let place = one.held[0].0[0].0.clone();
    let mut old = one.owned.remove(&place).unwrap().queue;
    old.seek(SeekTo::Earliest);
    one.give_back();
    settle(world, &mut [&mut one, &mut two], |peers| peers[1].has(&place)).await;
    two.leave(world).await;
    settle(world, &mut [&mut one], |peers| peers[0].has(&place)).await;

    let queue = one.queue(&place);
    queue.seek(SeekTo::Earliest);
    until(world, queue, |queue| queue.position() == Some(at(0))).await;
    let woken = Woken::by(queue);
    Woken::by(&mut *old);
    write(world, &place, [0]).await;
    woken.wait(world).await;
    Woken::by(&mut *old);
    assert_eq!(texts(&one.take_records(world, &place, 1).await), ["0"]);

    let woken = Woken::by(one.queue(&place));
    drop(old);
    write(world, &place, [1]).await;
    woken.wait(world).await;
    assert_eq!(texts(&one.take_records(world, &place, 1).await), ["1"]);
}

/// Notes that it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Woken {
    /// To be woken by a queue that has nothing.
    fn by(queue: &mut dyn Queue) -> Arc<Self> {
        let woken = Arc::<Self>::default();
        let waker = Waker::from(woken.clone());
        let polled = queue.poll_batch(&mut Context::from_waker(&waker), 10);
        assert!(polled.is_pending(), "there is nothing to read");
        woken
    }

    async fn wait(&self, world: &World) {
        let patience = world.clock.now() + world.harness.patience();
        while !self.0.load(Ordering::SeqCst) {
            assert!(world.clock.now() < patience, "not woken");
            world
                .clock
                .sleep_until(world.clock.now() + Duration::from_millis(1))
                .await;
        }
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(crate) async fn seek_earliest_latest_and_back(world: &World) {
    let (mut peer, place) = sole(world).await;
    write(world, &place, 0..10).await;
    let queue = peer.queue(&place);
    queue.seek(SeekTo::Latest);
    until(world, queue, |queue| queue.position() == Some(at(10))).await;
    write(world, &place, [10]).await;
    assert_eq!(texts(&peer.take_records(world, &place, 1).await), ["10"]);

    peer.queue(&place).seek(SeekTo::At(at(4)));
    assert_eq!(texts(&peer.take_records(world, &place, 2).await), ["4", "5"]);
    assert_eq!(peer.queue(&place).position(), Some(at(6)));

    peer.queue(&place).seek(SeekTo::Earliest);
    assert_eq!(peer.take_records(world, &place, 11).await.len(), 11);
}

/// Scenario C17, for seeks: nothing that was fetched before is shown after.
pub(crate) async fn c17_nothing_of_before_a_seek(world: &World) {
    let (mut peer, place) = sole(world).await;
    write(world, &place, 0..100).await;
    peer.queue(&place).seek(SeekTo::Earliest);
    for target in [50, 10, 90, 0] {
        peer.take_records(world, &place, 3).await;
        peer.queue(&place).seek(SeekTo::At(at(target)));
        let seen = peer.take_records(world, &place, 3).await;
        assert_eq!(
            seen.iter().map(|record| record.offset).collect::<Vec<_>>(),
            [target, target + 1, target + 2]
        );
    }
}

/// Scenario C22: the position never jumps.
pub(crate) async fn c22_out_of_range_is_an_error(world: &World) {
    let (mut peer, place) = sole(world).await;
    write(world, &place, 0..10).await;
    let mut admin = world.connect().admin().unwrap();
    world
        .within(admin.delete_records(vec![(place.clone(), at(5))]))
        .await
        .unwrap();
    for wrong in [0, 4, 11] {
        let queue = peer.queue(&place);
        queue.seek(SeekTo::At(at(wrong)));
        let error = world
            .within(next_batch(queue, 10))
            .await
            .err()
            .unwrap_or_else(|| panic!("{wrong} was read"));
        assert_eq!(error.kind, ClusterErrorKind::OffsetOutOfRange, "{error}");
        assert!(error.message.contains(&place.to_string()), "{error}");
    }
    peer.queue(&place).seek(SeekTo::Earliest);
    assert_eq!(peer.take_records(world, &place, 5).await[0].offset, 5);
}

/// Scenario C22: who asks for the first record gets the first that is there when it reads, not an error.
pub(crate) async fn c22_a_start_that_moves_before_it_is_read(world: &World) {
    let (mut peer, place) = sole(world).await;
    let mut producer = transactions::producer(world).await;
    transactions::write(world, &mut *producer, &place, &["held back"; 10]).await;
    // Nothing of an undecided transaction is read.
    let queue = peer.queue(&place);
    queue.seek(SeekTo::Earliest);
    until(world, queue, |queue| queue.position() == Some(at(0))).await;
    let mut admin = world.connect().admin().unwrap();
    let before = vec![(place.clone(), at(5))];
    world.within(admin.delete_records(before)).await.unwrap();
    world
        .within(producer.commit(peer.group.clone(), vec![]))
        .await
        .unwrap();
    let seen = peer.take_records(world, &place, 5).await;
    assert_eq!(seen[0].offset, 5);
}

pub(crate) async fn the_known_end_moves(world: &World) {
    let (mut peer, place) = sole(world).await;
    write(world, &place, 0..3).await;
    peer.queue(&place).seek(SeekTo::Earliest);
    peer.take_records(world, &place, 1).await;
    let ahead = |queue: &dyn Queue| queue.known_end().unwrap().since(queue.position().unwrap());
    assert_eq!(ahead(peer.queue(&place)), 2, "there are records on their way");
    peer.take_records(world, &place, 2).await;
    until(world, peer.queue(&place), |queue| {
        queue.known_end() == Some(Offset::new(3))
    })
    .await;
    assert_eq!(ahead(peer.queue(&place)), 0);
}

/// Whoever waits because it is not known whether there is more is woken when that is known, though no record comes.
pub(crate) async fn the_known_end_wakes(world: &World) {
    let (mut peer, place) = sole(world).await;
    let queue = peer.queue(&place);
    queue.seek(SeekTo::Earliest);
    let known = poll_fn(|cx| {
        assert!(queue.poll_batch(cx, 1).is_pending(), "there is nothing to read");
        match queue.known_end() {
            Some(end) => Poll::Ready(end),
            None => Poll::Pending,
        }
    });
    let begin = world.clock.now();
    assert_eq!(world.within(known).await, at(0));
    // At its end, patience wakes, too.
    let took = world.clock.now().saturating_sub(begin);
    assert!(took < world.harness.patience() / 2, "{took:?}");
}

/// What was known of a partition before it was somebody else's is not taken for its end.
pub(crate) async fn an_end_of_before_is_not_known(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let mut first = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut first], |peers| peers[0].owned.len() == 2).await;
    for number in 0..2 {
        let place = part(&topic, number);
        first.queue(&place).seek(SeekTo::Earliest);
        until(world, first.queue(&place), |queue| {
            queue.known_end() == Some(at(0))
        })
        .await;
    }
    let mut second = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut first, &mut second], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 1)
    })
    .await;
    let place = [part(&topic, 0), part(&topic, 1)]
        .into_iter()
        .find(|place| second.has(place))
        .unwrap();
    write(world, &place, 0..5).await;
    second.leave(world).await;
    settle(world, &mut [&mut first], |peers| peers[0].owned.len() == 2).await;
    let queue = first.queue(&place);
    // As if the other had read three.
    queue.seek(SeekTo::At(at(3)));
    let known = queue.known_end();
    assert!(known.is_none_or(|end| end == at(5)), "{known:?}");
}

/// Scenario C13: a partition that wanders between members loses nothing and keeps its order.
pub(crate) async fn c13_order_holds_across_handovers(world: &World) {
    let (topic, group) = (world.topic(1).await, world.name("group"));
    let (place, mut seen) = (part(&topic, 0), vec![]);
    write(world, &place, 0..1000).await;
    for round in 1..=10 {
        let mut peer = Peer::join(world, world.join(&group, &[&topic]));
        settle(world, &mut [&mut peer], |peers| peers[0].has(&place)).await;
        peer.start(world, &place).await;
        seen.extend(peer.take_records(world, &place, 100).await);
        let done = peer.offset(&place, round * 100, "");
        world.within(peer.group.commit(vec![done])).await.unwrap();
        // More has been fetched than was taken; it must not be missing for the next one.
        peer.leave(world).await;
    }
    assert_eq!(seen.len(), 1000);
    assert!(
        seen.iter()
            .zip(0..)
            .all(|(record, number)| record.offset == number && record.text() == number.to_string())
    );
}
