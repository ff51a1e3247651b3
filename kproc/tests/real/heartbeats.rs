//! What session and heartbeats have to do with the time that a rebalance takes.

use std::time::Duration;

use futures_util::future::{Either, select};
use kproc::{
    Clock, TopicPartition,
    cluster::{Assignment, Cluster, Event, JoinRequest, Member, Ownership},
};

use crate::{
    broker::TestBroker,
    kit::{PATIENCE, Site, block_on},
    proxy::{Proxy, Rule},
};

/// It has a second address, behind a proxy.
static BEHIND: TestBroker = TestBroker::new(&[]);

/// A member that takes what it is given, and gives what it is asked for.
struct Peer {
    member: Box<dyn Member>,
    owned: Vec<Assignment>,
}

impl Peer {
    fn join(site: &Site, session: Duration, heartbeat: Duration) -> Self {
        let request = JoinRequest {
            session_timeout: session,
            heartbeat_interval: Some(heartbeat),
            revoke_timeout: Duration::from_secs(5),
            client_id: "peer".into(),
            ..site.join_request(site.name)
        };
        Self {
            member: site.cluster.join(request).unwrap(),
            owned: Vec::new(),
        }
    }

    fn let_go(&mut self, places: &[(TopicPartition, Ownership)]) {
        self.owned
            .retain(|it| !places.iter().any(|(_, number)| *number == it.ownership));
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Assigned(assignments) => self.owned.extend(assignments),
            Event::Revoked(places, token) => {
                self.let_go(&places);
                drop(token);
            }
            Event::Lost(places) => self.let_go(&places),
            Event::Failed(error) => panic!("{error}"),
        }
    }
}

/// Serves two members until the first has so many partitions, and the second the rest.
async fn until_first_has(
    site: &Site,
    first: &mut Peer,
    second: Option<&mut Peer>,
    partitions: usize,
) -> Duration {
    let began = site.clock.now();
    let mut second = second;
    while first.owned.len() != partitions {
        assert!(
            site.clock.now() < began + PATIENCE,
            "of {partitions}: {:?}",
            first.owned
        );
        match &mut second {
            None => {
                let event = first.member.next_event().await;
                first.take(event);
            }
            Some(second) => {
                let (event, of_first) =
                    match select(first.member.next_event(), second.member.next_event()).await {
                        Either::Left((event, _)) => (event, true),
                        Either::Right((event, _)) => (event, false),
                    };
                if of_first {
                    first.take(event);
                } else {
                    second.take(event);
                }
            }
        }
    }
    site.clock.now().saturating_sub(began)
}

/// How long a second member waits for its half, and how long the first waits for it again after the second has
/// died.
async fn times(site: &Site, session: Duration, heartbeat: Duration) -> (Duration, Duration) {
    const PARTITIONS: usize = 4;
    let mut first = Peer::join(site, session, heartbeat);
    until_first_has(site, &mut first, None, PARTITIONS).await;
    let mut second = Peer::join(site, session, heartbeat);
    let joined = until_first_has(site, &mut second, Some(&mut first), PARTITIONS / 2).await;
    // No word to the group: this is how a process dies.
    drop(second);
    let taken_over = until_first_has(site, &mut first, None, PARTITIONS).await;
    first.member.leave().await.unwrap();
    (joined, taken_over)
}

/// A rebalance takes a heartbeat or two; that a member has died is known when its session is over.
#[test]
fn a_rebalance_takes_a_heartbeat_and_a_death_a_session() {
    let Some(site) = Site::shared("heartbeats") else {
        return;
    };
    block_on(async {
        site.make_topic("keys", 4, &[]).await;
        let (session, heartbeat) = (Duration::from_secs(3), Duration::from_secs(1));
        let (joined, taken_over) = times(&site, session, heartbeat).await;
        println!("joined {joined:?}, taken over {taken_over:?}");
        // From below, for a machine that is busy makes all of it longer: the brokers' own heartbeats are five times as many here,
        // and a ninth of a session is a third of this.
        assert!(joined > heartbeat * 4 / 5, "{joined:?}");
        assert!(taken_over > session / 2, "{taken_over:?}");
        // The brokers' own session is 45 seconds.
        assert!(taken_over < Duration::from_secs(30), "{taken_over:?}");
    });
}

/// Prints the table of `docs/operations.md`: `cargo test -p kproc --test real -- --ignored heartbeat_table --nocapture`.
#[test]
#[ignore = "measures, for minutes"]
fn heartbeat_table() {
    let Some(site) = Site::shared("heartbeat-table") else {
        return;
    };
    block_on(async {
        site.make_topic("keys", 4, &[]).await;
        for (session, heartbeat) in [
            (45_000, 5_000),
            (10_000, 1_000),
            (6_000, 300),
            (3_000, 300),
            (1_000, 100),
        ] {
            let (session, heartbeat) = (Duration::from_millis(session), Duration::from_millis(heartbeat));
            for _ in 0..3 {
                let (joined, taken_over) = times(&site, session, heartbeat).await;
                println!(
                    "session {session:?}, heartbeat {heartbeat:?}: joined {joined:.1?}, taken over {taken_over:.1?}"
                );
            }
        }
    });
}

/// What an answer says that comes later than the next heartbeat is lost to librdkafka (2.12), which does not ask for it again: a
/// member that was to give something back never hears of it. It is thrown out when its time to do so is over, and joins anew.
#[test]
fn who_misses_that_something_is_wanted_back_holds_others_up_for_less_than_a_minute() {
    let Some((proxy, address, behind)) = Proxy::before(&BEHIND) else {
        return;
    };
    let (site, behind) = (Site::at(address, "missed"), Site::at(&behind, "missed"));
    let (session, heartbeat) = (Duration::from_secs(10), Duration::from_millis(300));
    block_on(async {
        site.make_topic("keys", 2, &[]).await;
        let mut lasting = Peer::join(&behind, session, heartbeat);
        until_first_has(&site, &mut lasting, None, 2).await;
        proxy.rule(Rule::LateHeartbeats);
        let mut guest = Peer::join(&site, session, heartbeat);
        let patience = site.clock.now() + PATIENCE;
        while site.admin().group_members("missed".into()).await.unwrap().len() < 2 {
            assert!(site.clock.now() < patience, "the guest does not join");
            site.pause(Duration::from_millis(50)).await;
        }
        // That half of the partitions are wanted back is in one of the next answers.
        let pause = site.clock.sleep_until(site.clock.now() + Duration::from_secs(5));
        let missed = matches!(select(lasting.member.next_event(), pause).await, Either::Right(_));
        assert!(missed, "it was not");
        proxy.rule(Rule::Pass);
        let took = until_first_has(&site, &mut guest, Some(&mut lasting), 1).await;
        println!("{took:?}");
        assert!(took > Duration::from_secs(5), "it was not missed: {took:?}");
        assert!(took < Duration::from_secs(60), "{took:?}");
        until_first_has(&site, &mut lasting, Some(&mut guest), 1).await;
    });
}
