//! Coordinators that move from one broker to another, and back.

use std::time::Duration;

use crate::{
    broker::TestBroker,
    kit::{Site, block_on, stop},
};

/// Everything is on both brokers, and either may be the coordinator of some groups.
const REPLICATED: &[&str] = &[
    "default.replication.factor=2",
    "offsets.topic.replication.factor=2",
    "transaction.state.log.replication.factor=2",
    "broker.session.timeout.ms=1500",
    "broker.heartbeat.interval.ms=300",
];

static FIRST: TestBroker = TestBroker::new(REPLICATED);
static SECOND: TestBroker = TestBroker::new(REPLICATED);

/// The groups' names are spread over all partitions of the offsets' topic, so two have their coordinators on each broker.
const GROUPS: [&str; 4] = ["a", "b", "c", "d"];

/// When a broker dies, coordinators and leaders move to the other one, and later back. Commits wait for that, and nothing is
/// lost.
#[test]
fn coordinators_move_and_everything_goes_on() {
    const ROUND: usize = 50;
    let Some(second) = SECOND.address_beside(&FIRST) else {
        return;
    };
    let sites = GROUPS.map(|group| Site::at(&format!("{},{second}", FIRST.address().unwrap()), group));
    block_on(async {
        let states = GROUPS.map(|_| tempfile::tempdir().unwrap());
        let mut all = Vec::new();
        for (site, state) in sites.iter().zip(&states) {
            site.make_topics(2).await;
            // What both brokers have written, both have heard of; and of the other topic before. Until then, one that is asked may
            // say that there is none.
            site.write(["apple"; ROUND]).await;
            all.push((site, site.app(state.path()).start().unwrap()));
        }
        for (round, what) in ["", "kill", "start"].into_iter().enumerate() {
            if round > 0 {
                for (site, _) in &all {
                    site.write(["apple"; ROUND]).await;
                }
            }
            if !what.is_empty() {
                SECOND.tell(what);
            }
            for (site, running) in &all {
                let number = ((round + 1) * ROUND) as u64;
                site.counted_up_to(running, &["apple"], number).await;
            }
        }
        for (_, running) in &all {
            running.drained().await.unwrap();
            stop(running, Duration::from_secs(20)).await;
        }
    });
}
