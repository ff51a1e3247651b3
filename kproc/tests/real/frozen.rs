//! At least once, a process that stands still for longer than its session, in the middle of writing: how much of it is written
//! when it goes on.
//!
//! What waits in the producer is not (`outgoing`). What librdkafka has is, if the stand-still comes while it makes a request of
//! it, or with the default `message.timeout.ms`. So this is a measurement, and no promise.

use std::{collections::BTreeMap, time::Duration};

use kproc::{
    Clock, Offset,
    cluster::{Cluster, Isolation},
};

use crate::{
    child::Counter,
    kit::{CHANGELOG, PATIENCE, Site, block_on},
};

/// So many keys are in one commit.
const KEYS: usize = 20_000;

/// Prints numbers: `cargo test -p kproc --test real -- --ignored c14_old_values --nocapture`.
#[test]
#[ignore = "measures"]
fn c14_old_values_of_a_process_that_stood_still_in_the_middle_of_a_commit() {
    let Some(site) = Site::shared("frozen") else {
        return;
    };
    block_on(async {
        site.make_topics(1).await;
        site.make_changelog(1).await;
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let keys: Vec<_> = (0..KEYS).map(|number| number.to_string()).collect();
        site.write(&keys).await;
        let mut frozen = Counter::start_without_transactions(&site, states[0].path());
        let patience = site.clock.now() + PATIENCE;
        while site.ends(CHANGELOG).await.latest == Offset::ZERO {
            frozen.assert_alive();
            assert!(site.clock.now() < patience, "it writes nothing: {}", frozen.log());
        }
        frozen.freeze();
        // What was on its way has arrived.
        site.pause(Duration::from_millis(500)).await;
        let written = site.ends(CHANGELOG).await.latest;
        println!("frozen at {written}");

        let mut other = Counter::start_without_transactions(&site, states[1].path());
        site.write(&keys).await;
        let patience = site.clock.now() + PATIENCE;
        while !complete(&site, 2).await {
            other.assert_alive();
            assert!(site.clock.now() < patience, "{}", other.log());
            site.pause(Duration::from_millis(100)).await;
        }
        let before = site.ends(CHANGELOG).await.latest;
        frozen.thaw();
        while site.admin().group_members(site.name.into()).await.unwrap().len() < 2 {
            frozen.assert_alive();
            site.pause(Duration::from_millis(100)).await;
        }
        site.pause(Duration::from_secs(3)).await;
        println!("{}", frozen.log());
        let old = old_values(&site, before).await;
        println!("old values: {old}");
        frozen.stop();
        other.stop();
    });
}

/// Whether each key has been counted so often, at least.
async fn complete(site: &Site, number: u64) -> bool {
    let counts = site.counts().await;
    counts.len() == KEYS && counts.values().all(|counts| counts.last() >= Some(&number))
}

/// How many records of the changelog, from an offset on, are less than what was there before.
async fn old_values(site: &Site, from: Offset) -> usize {
    let (mut most, mut old) = (BTreeMap::<Vec<u8>, u64>::new(), 0);
    let place = site.partition(CHANGELOG, 0);
    let mut reader = site.cluster.reader(Isolation::ReadCommitted).unwrap();
    let ends = reader.watermarks(place.clone()).await.unwrap();
    let mut next = ends.earliest;
    while next < ends.stable {
        let read = reader.read(place.clone(), next, 10_000, Duration::from_secs(10));
        let mut read = read.await.unwrap();
        next = read.next;
        while let Some(record) = read.batch.record(0, place.partition) {
            let count = u64::from_be_bytes(record.value.unwrap().try_into().unwrap());
            let most = most.entry(record.key.unwrap().to_vec()).or_default();
            old += usize::from(record.offset >= from && count < *most);
            *most = count.max(*most);
            read.batch.advance();
        }
    }
    old
}
