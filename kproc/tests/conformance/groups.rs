//! Groups: who gets what, when it moves, and what may be committed.

use std::collections::BTreeSet;

use kproc::{
    TopicPartition,
    cluster::{ClusterErrorKind, CommittedOffset},
};

use crate::{
    harness::{World, at, part, texts, value_in},
    peer::{Peer, idle, settle},
};

pub(crate) async fn one_member_gets_everything(world: &World) {
    let (topic, group) = (world.topic(3).await, world.name("group"));
    let mut one = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 3).await;
    let numbers: BTreeSet<_> = one.owned.values().map(|holding| holding.ownership).collect();
    assert_eq!(numbers.len(), 3, "each assignment has a number of its own");
    one.leave(world).await;
}

pub(crate) async fn two_members_share(world: &World) {
    let (topic, group) = (world.topic(4).await, world.name("group"));
    let mut one = Peer::join(world, world.join(&group, &[&topic]));
    let mut two = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 2)
    })
    .await;
    let all: BTreeSet<TopicPartition> = one.parts().into_iter().chain(two.parts()).collect();
    assert_eq!(all.len(), 4);
    one.leave(world).await;
    two.leave(world).await;
}

pub(crate) async fn co_partitions_stay_together(world: &World) {
    let (left, right, group) = (world.topic(5).await, world.topic(5).await, world.name("group"));
    let mut peers: Vec<Peer> = (0..3)
        .map(|_| Peer::join(world, world.join(&group, &[&left, &right])))
        .collect();
    let mut peers: Vec<&mut Peer> = peers.iter_mut().collect();
    let shared = |peers: &[&mut Peer]| {
        peers.iter().all(|peer| (2..=4).contains(&peer.owned.len()))
            && peers.iter().map(|peer| peer.owned.len()).sum::<usize>() == 10
    };
    settle(world, &mut peers, shared).await;
    for peer in peers {
        for number in 0..5 {
            assert_eq!(
                peer.has(&part(&left, number)),
                peer.has(&part(&right, number)),
                "{:?}",
                peer.parts()
            );
        }
    }
}

pub(crate) async fn incremental_revoke_leaves_the_others_running(world: &World) {
    let (topic, group) = (world.topic(4).await, world.name("group"));
    let mut one = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 4).await;
    let before: Vec<_> = one
        .owned
        .iter()
        .map(|(place, holding)| (place.clone(), holding.ownership))
        .collect();
    for place in one.parts() {
        one.start(world, &place).await;
    }

    let mut two = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers[0].owned.len() == 2 && peers[1].owned.len() == 2
    })
    .await;
    assert_eq!(
        one.revoked.len(),
        2,
        "only what moves is asked back: {:?}",
        one.revoked
    );
    assert!(one.lost.is_empty() && two.lost.is_empty() && two.revoked.is_empty());
    for (place, holding) in &one.owned {
        assert!(
            before.contains(&(place.clone(), holding.ownership)),
            "{place} was assigned anew"
        );
    }
    for (place, holding) in &two.owned {
        assert!(
            !before.contains(&(place.clone(), holding.ownership)),
            "{place} has its old number"
        );
    }
    // What stayed goes on where it was.
    let stayed = one.parts()[0].clone();
    world
        .produce(&topic, &[value_in(stayed.partition.get(), "on")])
        .await;
    assert_eq!(texts(&one.take_records(world, &stayed, 1).await), ["on"]);
}

pub(crate) async fn a_token_holds_the_partition(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let mut one = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;
    one.holds = true;
    let mut two = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut one, &mut two], |peers| {
        !peers[0].held.is_empty()
    })
    .await;
    let (asked, deadline) = (one.held[0].0.clone(), one.held[0].1.deadline);
    assert_eq!(asked.len(), 1);
    assert!(deadline > world.clock.now());

    idle(world, &mut [&mut one, &mut two]).await;
    assert!(two.owned.is_empty(), "the token is held");
    // It is still ours: the last commit belongs here.
    let place = asked[0].0.clone();
    let last = one.offset(&place, 0, "last");
    world.within(one.group.commit(vec![last])).await.unwrap();

    one.give_back();
    settle(world, &mut [&mut one, &mut two], |peers| peers[1].has(&place)).await;
    let committed = world.within(two.group.committed(vec![place])).await.unwrap();
    assert_eq!(
        committed,
        [Some(CommittedOffset {
            next: at(0),
            metadata: "last".into()
        })]
    );
    assert!(one.lost.is_empty());
}

pub(crate) async fn a_late_token_loses_the_partition(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let mut request = world.join(&group, &[&topic]);
    request.revoke_timeout = world.harness.session_timeout();
    let mut one = Peer::join(world, request.clone());
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;
    one.holds = true;
    let mut two = Peer::join(world, request);
    settle(world, &mut [&mut one, &mut two], |peers| {
        !peers[0].held.is_empty()
    })
    .await;
    let place = one.held[0].0[0].0.clone();
    let stale = one.offset(&place, 1, "");
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers[0].lost.contains(&place) && peers[1].has(&place)
    })
    .await;
    let refused = world.within(one.group.commit(vec![stale])).await.unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost);

    // The token comes too late to change anything.
    one.give_back();
    idle(world, &mut [&mut one, &mut two]).await;
    assert!(two.has(&place));
}

pub(crate) async fn leaving_hands_over_at_once(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let mut request = world.join(&group, &[&topic]);
    request.session_timeout = world.harness.patience() * 2;
    let mut one = Peer::join(world, request.clone());
    let mut two = Peer::join(world, request);
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 1)
    })
    .await;
    one.leave(world).await;
    // Within patience, which is less than the session: so it was the leaving.
    settle(world, &mut [&mut two], |peers| peers[0].owned.len() == 2).await;
}

pub(crate) async fn a_dead_member_times_out(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let request = world.join(&group, &[&topic]);
    let mut one = Peer::join(world, request.clone());
    let mut two = Peer::join(world, request.clone());
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 1)
    })
    .await;
    two.revoked.clear(); // It may have been the first to join.
    let died = world.clock.now();
    one.die();
    settle(world, &mut [&mut two], |peers| peers[0].owned.len() == 2).await;
    // A heartbeat may be some time old when its sender dies.
    assert!(world.clock.now() >= died + request.session_timeout / 2);
    assert!(two.lost.is_empty() && two.revoked.is_empty());
}

/// Scenario C07: a member that comes back gets its share again.
pub(crate) async fn c07_five_partitions_three_members(world: &World) {
    let (topic, group) = (world.topic(5).await, world.name("group"));
    let request = world.join(&group, &[&topic]);
    let even = |peers: &[&mut Peer]| {
        peers.iter().all(|peer| (1..=2).contains(&peer.owned.len()))
            && peers.iter().map(|peer| peer.owned.len()).sum::<usize>() == 5
    };
    let mut one = Peer::join(world, request.clone());
    let mut two = Peer::join(world, request.clone());
    let mut three = Peer::join(world, request.clone());
    settle(world, &mut [&mut one, &mut two, &mut three], even).await;
    one.leave(world).await;
    settle(world, &mut [&mut two, &mut three], |peers| {
        peers.iter().map(|peer| peer.owned.len()).sum::<usize>() == 5
    })
    .await;
    let mut again = Peer::join(world, request);
    settle(world, &mut [&mut again, &mut two, &mut three], even).await;
}

/// Scenario C08: a member without partitions is well, and takes over when the owner dies.
pub(crate) async fn c08_more_members_than_partitions(world: &World) {
    let (topic, group) = (world.topic(1).await, world.name("group"));
    let place = part(&topic, 0);
    let request = world.join(&group, &[&topic]);
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::join(world, request.clone())).collect();
    for left in [2, 1] {
        let mut all: Vec<&mut Peer> = peers.iter_mut().collect();
        settle(world, &mut all, |peers| peers.iter().any(|peer| peer.has(&place))).await;
        let owner = peers.iter().position(|peer| peer.has(&place)).unwrap();
        peers.remove(owner).die();
        assert_eq!(peers.len(), left);
    }
    let mut all: Vec<&mut Peer> = peers.iter_mut().collect();
    settle(world, &mut all, |peers| peers[0].has(&place)).await;
    assert!(peers[0].failed.is_none());
}

/// Scenario C14: nothing of a commit is taken if any of its partitions is not ours any more.
pub(crate) async fn c14_commits_of_lost_partitions_are_refused_whole(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let request = world.join(&group, &[&topic]);
    let mut one = Peer::join(world, request.clone());
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;
    let stale: Vec<_> = one
        .parts()
        .iter()
        .map(|place| one.offset(place, 7, "stale"))
        .collect();
    let mut two = Peer::join(world, request);
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 1)
    })
    .await;

    let refused = world.within(one.group.commit(stale.clone())).await.unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost, "{refused}");
    let both: Vec<_> = stale.iter().map(|offset| offset.partition.clone()).collect();
    assert_eq!(
        world.within(one.group.committed(both)).await.unwrap(),
        [None, None]
    );

    // The one that stayed can be committed.
    let own: Vec<_> = stale
        .into_iter()
        .filter(|offset| one.has(&offset.partition))
        .collect();
    let kept = own[0].partition.clone();
    world.within(one.group.commit(own)).await.unwrap();
    let committed = world.within(two.group.committed(vec![kept])).await.unwrap();
    assert_eq!(committed[0].as_ref().unwrap().next, at(7));
}

/// A partition that went and came back is another assignment: what was done under the former one is stale.
pub(crate) async fn a_returned_partition_has_another_number(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let request = world.join(&group, &[&topic]);
    let mut one = Peer::join(world, request.clone());
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;
    let before: Vec<_> = one.parts().iter().map(|place| one.offset(place, 3, "")).collect();
    let mut two = Peer::join(world, request);
    settle(world, &mut [&mut one, &mut two], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 1)
    })
    .await;
    let went = two.parts()[0].clone();
    two.leave(world).await;
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;

    let stale = before
        .into_iter()
        .find(|offset| offset.partition == went)
        .unwrap();
    assert_ne!(stale.ownership, one.owned[&went].ownership);
    let refused = world.within(one.group.commit(vec![stale])).await.unwrap_err();
    assert_eq!(refused.kind, ClusterErrorKind::OwnershipLost, "{refused}");
    let own = one.offset(&went, 4, "");
    world.within(one.group.commit(vec![own])).await.unwrap();
}

pub(crate) async fn committed_offsets_and_their_metadata(world: &World) {
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let places = vec![part(&topic, 0), part(&topic, 1)];
    let mut one = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 2).await;
    assert_eq!(
        world.within(one.group.committed(places.clone())).await.unwrap(),
        [None, None]
    );

    for (next, metadata) in [(3, "time 17"), (5, "")] {
        let offset = one.offset(&places[1], next, metadata);
        world.within(one.group.commit(vec![offset])).await.unwrap();
        let committed = world.within(one.group.committed(places.clone())).await.unwrap();
        assert_eq!(
            committed,
            [
                None,
                Some(CommittedOffset {
                    next: at(next),
                    metadata: metadata.into()
                })
            ]
        );
    }
    one.leave(world).await;

    // Offsets outlive the members.
    let mut two = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut two], |peers| peers[0].owned.len() == 2).await;
    let committed = world.within(two.group.committed(places)).await.unwrap();
    assert_eq!(committed[1].as_ref().unwrap().next, at(5));
}

pub(crate) async fn topics_made_after_joining_are_assigned(world: &World) {
    let (topic, later, group) = (world.topic(1).await, world.name("later"), world.name("group"));
    let mut one = Peer::join(world, world.join(&group, &[&topic, &later]));
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 1).await;
    let new = kproc::cluster::NewTopic {
        name: later.clone(),
        partitions: 2,
        config: vec![],
    };
    let mut admin = world.connect().admin().unwrap();
    assert_eq!(world.within(admin.create(vec![new])).await.unwrap(), [Ok(())]);
    settle(world, &mut [&mut one], |peers| peers[0].owned.len() == 3).await;
}
