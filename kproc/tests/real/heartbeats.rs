//! What session and heartbeats have to do with the time that a rebalance takes.

use std::time::Duration;

use futures_util::future::{Either, select};
use kproc::{
    Clock,
    cluster::{Assignment, Cluster, Event, JoinRequest, Member},
};

use crate::kit::{PATIENCE, Site, block_on};

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

    fn take(&mut self, event: Event) {
        match event {
            Event::Assigned(assignments) => self.owned.extend(assignments),
            Event::Revoked(places, token) => {
                self.owned
                    .retain(|it| !places.iter().any(|(_, number)| *number == it.ownership));
                drop(token);
            }
            other => panic!("{other:?}"),
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
