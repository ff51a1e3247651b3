//! Groups under any trouble: members join, leave, crash, are cut off and come back, keep tokens too long. No two
//! members whose links are whole ever have a partition at the same time, and in the end everything is shared out.

use std::{
    collections::BTreeMap,
    task::{Context, Waker},
};

use super::*;
use crate::cluster::{Ownership, RevokeToken};

const PARTITIONS: u32 = 7;
const REVOKE: Duration = Duration::from_secs(3);

struct Peer {
    connection: Arc<EmbeddedConnection>,
    member: Box<dyn Member>,
    owned: BTreeMap<TopicPartition, Assignment>,
    tokens: Vec<(Vec<(TopicPartition, Ownership)>, RevokeToken)>,
    severed: bool,
}

impl Peer {
    fn take_events(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            let Poll::Ready(event) = self.member.next_event().as_mut().poll(&mut cx) else {
                return;
            };
            match event {
                Event::Assigned(assignments) => {
                    for assignment in assignments {
                        let before = self.owned.insert(assignment.partition.clone(), assignment);
                        assert!(before.is_none(), "assigned twice");
                    }
                }
                Event::Revoked(asked, token) => {
                    for (partition, ownership) in &asked {
                        assert_eq!(self.owned[partition].ownership, *ownership);
                    }
                    self.tokens.push((asked, token));
                }
                Event::Lost(lost) => self.remove(&lost),
                Event::Failed(error) => panic!("{error}"),
            }
        }
    }

    fn remove(&mut self, partitions: &[(TopicPartition, Ownership)]) {
        for (partition, ownership) in partitions {
            if self
                .owned
                .get(partition)
                .is_some_and(|own| own.ownership == *ownership)
            {
                self.owned.remove(partition);
            }
        }
    }

    fn give_back(&mut self) {
        for (partitions, token) in std::mem::take(&mut self.tokens) {
            self.remove(&partitions);
            drop(token);
        }
    }
}

struct Group {
    world: World,
    peers: Vec<Peer>,
}

impl Group {
    fn random(&self, below: usize) -> usize {
        (self.world.executor.clock().random() % below as u64) as usize
    }

    fn join(&mut self) {
        let connection = self.world.cluster.connect();
        let request = JoinRequest {
            group: "g".into(),
            topics: vec!["t".into()],
            session_timeout: SESSION,
            heartbeat_interval: None,
            revoke_timeout: REVOKE,
            isolation: Isolation::ReadCommitted,
            read_ahead: None,
            client_id: String::new(),
        };
        let member = connection.join(request).unwrap();
        let (owned, tokens) = (BTreeMap::new(), Vec::new());
        self.peers.push(Peer {
            connection,
            member,
            owned,
            tokens,
            severed: false,
        });
    }

    fn step(&mut self) {
        if self.peers.is_empty() || (self.peers.len() < 5 && self.random(6) == 0) {
            return self.join();
        }
        let place = self.random(self.peers.len());
        match self.random(12) {
            0 => {
                let mut peer = self.peers.swap_remove(place);
                peer.give_back();
                // On its way; nobody waits for the answer.
                drop(peer.member.leave());
            }
            1 => {
                let peer = self.peers.swap_remove(place);
                peer.connection.sever();
            }
            2 => {
                self.peers[place].connection.sever();
                self.peers[place].severed = true;
            }
            3 | 4 => {
                self.peers[place].connection.mend();
                self.peers[place].severed = false;
            }
            5..=8 => self.peers[place].give_back(),
            _ => {
                let pause = Duration::from_millis(self.random(1500) as u64);
                self.world.executor.advance(pause);
            }
        }
        self.take_events();
    }

    fn take_events(&mut self) {
        for peer in &mut self.peers {
            peer.take_events();
        }
    }

    /// Whoever can commit a partition is its only owner.
    fn check(&mut self) {
        for number in 0..PARTITIONS {
            let mut owners = 0;
            for place_of in 0..self.peers.len() {
                let peer = &self.peers[place_of];
                let Some(own) = peer.owned.get(&place(number)).filter(|_| !peer.severed) else {
                    continue;
                };
                let commit = peer.member.group().commit(vec![offset(own, 0)]);
                owners += usize::from(self.world.run(commit).is_ok());
            }
            assert!(owners <= 1, "partition {number} has {owners} owners");
        }
    }
}

#[test]
fn a_group_gets_over_any_trouble() {
    for seed in 0..60 {
        let mut group = Group {
            world: World::new(seed, PARTITIONS),
            peers: vec![],
        };
        for step in 0..120 {
            group.step();
            if step % 10 == 0 {
                group.check();
            }
        }
        // Peace: everybody is there, and gives back what is wanted.
        if group.peers.is_empty() {
            group.join();
        }
        for peer in &mut group.peers {
            peer.connection.mend();
            peer.severed = false;
        }
        for _ in 0..20 {
            group.world.executor.advance(Duration::from_secs(1));
            group.take_events();
            for peer in &mut group.peers {
                peer.give_back();
            }
        }
        group.check();
        let shares: Vec<usize> = group.peers.iter().map(|peer| peer.owned.len()).collect();
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(most - least <= 1, "seed {seed}: {shares:?}");
        assert_eq!(
            shares.iter().sum::<usize>(),
            PARTITIONS as usize,
            "seed {seed}: {shares:?}"
        );
        for peer in &group.peers {
            for own in peer.owned.values() {
                let committed = group
                    .world
                    .executor
                    .run_until(peer.member.group().commit(vec![offset(own, 1)]));
                assert_eq!(committed, Some(Ok(())), "seed {seed}");
            }
        }
    }
}
