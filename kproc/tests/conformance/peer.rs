//! A member of a group that does what its owner would do: takes assignments, gives back what is wanted.

use std::{collections::BTreeMap, future::poll_fn, sync::Arc, task::Poll};

use kproc::{
    TopicPartition,
    cluster::{
        ClusterError, Event, Group, JoinRequest, Member, OffsetCommit, Ownership, Queue, Result, RevokeToken,
        SeekTo,
    },
};

use crate::harness::{Instance, Seen, World, at};

/// A member.
pub(crate) struct Peer {
    pub(crate) instance: Option<Instance>,
    pub(crate) member: Option<Box<dyn Member>>,
    pub(crate) group: Arc<dyn Group>,
    pub(crate) owned: BTreeMap<TopicPartition, Holding>,
    /// Whether it keeps tokens instead of giving back at once.
    pub(crate) holds: bool,
    pub(crate) held: Vec<(Vec<(TopicPartition, Ownership)>, RevokeToken)>,
    pub(crate) lost: Vec<TopicPartition>,
    /// Every partition that was ever asked back.
    pub(crate) revoked: Vec<TopicPartition>,
    pub(crate) failed: Option<ClusterError>,
}

/// A partition that a peer has.
pub(crate) struct Holding {
    pub(crate) ownership: Ownership,
    pub(crate) queue: Box<dyn Queue>,
}

impl Peer {
    /// A new instance that joins.
    pub(crate) fn join(world: &World, request: JoinRequest) -> Self {
        let instance = world.harness.connect();
        let member = instance.cluster.join(request).unwrap();
        Self {
            group: member.group(),
            instance: Some(instance),
            member: Some(member),
            owned: BTreeMap::new(),
            holds: false,
            held: vec![],
            lost: vec![],
            revoked: vec![],
            failed: None,
        }
    }

    /// What it has, as text.
    pub(crate) fn parts(&self) -> Vec<TopicPartition> {
        self.owned.keys().cloned().collect()
    }

    pub(crate) fn has(&self, partition: &TopicPartition) -> bool {
        self.owned.contains_key(partition)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Assigned(assignments) => {
                for assignment in assignments {
                    let holding = Holding {
                        ownership: assignment.ownership,
                        queue: assignment.queue,
                    };
                    let before = self.owned.insert(assignment.partition.clone(), holding);
                    assert!(before.is_none(), "{} was assigned twice", assignment.partition);
                }
            }
            Event::Revoked(partitions, token) => {
                self.revoked
                    .extend(partitions.iter().map(|(partition, _)| partition.clone()));
                for (partition, ownership) in &partitions {
                    assert_eq!(self.owned[partition].ownership, *ownership, "{partition}");
                }
                if self.holds {
                    self.held.push((partitions, token));
                } else {
                    self.remove(&partitions);
                }
            }
            Event::Lost(partitions) => {
                self.lost
                    .extend(partitions.iter().map(|(partition, _)| partition.clone()));
                self.remove(&partitions);
            }
            Event::Failed(error) => self.failed = Some(error),
        }
    }

    fn remove(&mut self, partitions: &[(TopicPartition, Ownership)]) {
        for (partition, ownership) in partitions {
            if self
                .owned
                .get(partition)
                .is_some_and(|holding| holding.ownership == *ownership)
            {
                self.owned.remove(partition);
            }
        }
    }

    /// Gives back what it holds.
    pub(crate) fn give_back(&mut self) {
        for (partitions, token) in std::mem::take(&mut self.held) {
            self.remove(&partitions);
            drop(token);
        }
    }

    /// The commit of one partition, under its present assignment.
    pub(crate) fn offset(&self, partition: &TopicPartition, next: u64, metadata: &str) -> OffsetCommit {
        OffsetCommit {
            partition: partition.clone(),
            ownership: self.owned[partition].ownership,
            next: at(next),
            metadata: metadata.into(),
        }
    }

    /// Where to read on: the committed offset, or the start.
    pub(crate) async fn start(&mut self, world: &World, partition: &TopicPartition) {
        let committed = world
            .within(self.group.committed(vec![partition.clone()]))
            .await
            .unwrap();
        let to = committed[0]
            .as_ref()
            .map_or(SeekTo::Earliest, |offset| SeekTo::At(offset.next));
        self.queue(partition).seek(to);
    }

    /// The queue of a partition that it has.
    pub(crate) fn queue(&mut self, partition: &TopicPartition) -> &mut dyn Queue {
        &mut *self.owned.get_mut(partition).unwrap().queue
    }

    /// The next `count` records of a partition that it has.
    pub(crate) async fn take_records(
        &mut self,
        world: &World,
        partition: &TopicPartition,
        count: usize,
    ) -> Vec<Seen> {
        let mut seen = vec![];
        while seen.len() < count {
            let left = count - seen.len();
            let batch = world
                .within(next_batch(self.queue(partition), left))
                .await
                .unwrap();
            assert!((1..=left).contains(&batch.remaining()));
            seen.extend(Seen::all(batch));
        }
        seen
    }

    /// Leaves, as one does.
    pub(crate) async fn leave(mut self, world: &World) {
        world.within(self.member.take().unwrap().leave()).await.unwrap();
    }

    /// Dies without a word.
    pub(crate) fn die(mut self) {
        (self.instance.take().unwrap().kill)();
    }
}

/// The next batch of a queue.
pub(crate) async fn next_batch(queue: &mut dyn Queue, max: usize) -> Result<kproc::Batch> {
    poll_fn(|cx| queue.poll_batch(cx, max)).await
}

/// Lets the peers take their events until they are as they should be.
pub(crate) async fn settle(world: &World, peers: &mut [&mut Peer], done: impl Fn(&[&mut Peer]) -> bool) {
    let patience = world.harness.patience();
    let mut late = world.clock.sleep_until(world.clock.now() + patience);
    while !done(peers) {
        let (place, event) = poll_fn(|cx| {
            for (place, peer) in peers.iter_mut().enumerate() {
                if let Some(member) = &mut peer.member
                    && let Poll::Ready(event) = member.next_event().as_mut().poll(cx)
                {
                    return Poll::Ready((place, event));
                }
            }
            if late.as_mut().poll(cx).is_ready() {
                let parts: Vec<_> = peers.iter().map(|peer| peer.parts()).collect();
                panic!("not settled within {patience:?}: {parts:?}");
            }
            Poll::Pending
        })
        .await;
        peers[place].take(event);
    }
}

/// Lets the peers take their events for a while, in which nothing is expected to happen.
pub(crate) async fn idle(world: &World, peers: &mut [&mut Peer]) {
    let mut over = world
        .clock
        .sleep_until(world.clock.now() + world.harness.session_timeout() / 2);
    loop {
        let event = poll_fn(|cx| {
            for (place, peer) in peers.iter_mut().enumerate() {
                if let Some(member) = &mut peer.member
                    && let Poll::Ready(event) = member.next_event().as_mut().poll(cx)
                {
                    return Poll::Ready(Some((place, event)));
                }
            }
            over.as_mut().poll(cx).map(|()| None)
        })
        .await;
        match event {
            Some((place, event)) => peers[place].take(event),
            None => return,
        }
    }
}
