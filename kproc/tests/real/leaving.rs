//! Members leave their groups, whatever librdkafka is about.

use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use kproc::{
    Clock,
    cluster::{Cluster, Event, JoinRequest, Member},
};

use crate::{
    broker::TestBroker,
    kit::{Site, block_on},
};

static GONE: TestBroker = TestBroker::new(&[]);

/// What leaving may take, if nothing hangs: kproc gives up after three seconds.
const SOON: Duration = Duration::from_secs(20);

/// Scenario G03: without brokers, librdkafka ends a membership as soon as its partitions are given back, and drops what it
/// is asked after that. Whoever asked in the middle of a leaving waited for ever, about once in 36 times: thus so many.
#[test]
fn g03_members_leave_without_brokers() {
    const MEMBERS: usize = 30;
    let Some(address) = GONE.address() else { return };
    let site = Site::at(address, "leave");
    block_on(async {
        site.make_topics(2).await;
        let mut members = Vec::new();
        for number in 0..MEMBERS {
            let (member, _) = site.member(&format!("leave-{number}")).await;
            members.push(member);
        }
        GONE.tell("kill");
        site.pause(Duration::from_secs(1)).await;
        let over = site.clock.now() + SOON;
        let leave = |member: Box<dyn Member>| async {
            // That it cannot tell the brokers is no matter.
            let over = site.clock.sleep_until(over);
            matches!(select(member.leave(), over).await, Either::Left(_))
        };
        let ended = join_all(members.into_iter().map(leave)).await;
        assert_eq!(ended, [true; MEMBERS]);
    });
}

/// librdkafka waits for an answer to what it assigns, and drops what it is asked after it has left. Who leaves meanwhile has left
/// nevertheless, and nobody waits for the end of its session.
#[test]
fn who_leaves_in_the_middle_of_a_rebalance_has_left() {
    const MEMBERS: usize = 5;
    let Some(site) = Site::shared("given") else { return };
    block_on(async {
        for topic in ["keys", "kept"] {
            site.make_topic(topic, 1, &[]).await;
        }
        let mut members = Vec::new();
        for number in 0..MEMBERS {
            let request = JoinRequest {
                topics: ["keys", "kept"].map(|topic| site.topic(topic).into()).to_vec(),
                ..site.join_request(&format!("given-{number}"))
            };
            let mut member = site.cluster.join(request).unwrap();
            let assigned = member.next_event().await;
            assert!(matches!(assigned, Event::Assigned(_)), "{assigned:?}");
            members.push(member);
        }
        // The old one's partition is wanted back, and then the new one's given.
        site.delete_topic("keys").await;
        site.make_topic("keys", 1, &[]).await;
        let leave = |mut member: Box<dyn Member>| async {
            let wanted_back = member.next_event().await;
            // So that the brokers have the new partition ready to give.
            site.pause(Duration::from_secs(1)).await;
            let left = member.leave().await;
            drop(wanted_back);
            left
        };
        let left = join_all(members.into_iter().map(leave)).await;
        assert_eq!(left, [const { Ok(()) }; MEMBERS]);
    });
}
