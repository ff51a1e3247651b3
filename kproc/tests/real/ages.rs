//! State that was left alone for longer than its changelog keeps deletions, as the topic's own setting says.

use std::{path::Path, sync::Arc, time::Duration};

use kproc::{
    Clock, Restored, Table,
    cluster::{Cluster, Isolation, ProducerOptions},
    outbox::{Outbox, RawRecord},
};
use kproc_store::{Environment, EnvironmentOptions, Followed, Store};

use crate::kit::{CHANGELOG, PATIENCE, Site, block_on, stop};

/// Counts one record of each of these keys. What was restored before.
async fn count(site: &Site, state: &Path, keys: &[&str]) -> Restored {
    site.write(keys).await;
    let running = site.app(state).start().unwrap();
    running.drained().await.unwrap();
    let restored = running.status().tasks[0].restored.unwrap();
    stop(&running, Duration::from_secs(20)).await;
    restored
}

/// Writes to the changelog as another instance would that goes on with the state.
async fn go_on(site: &Site, rows: &[(&str, Option<u64>)]) {
    let topic: Arc<str> = site.topic(CHANGELOG).into();
    let mut outbox = Outbox::default();
    for (key, value) in rows {
        let value = value.map(u64::to_be_bytes);
        let record = RawRecord {
            key: Some(key.as_bytes()),
            value: value.as_ref().map(<[u8; 8]>::as_slice),
            ..RawRecord::default()
        };
        outbox.push_raw(&topic, &record);
    }
    let mut producer = site.cluster.producer(ProducerOptions::default()).unwrap();
    producer.send(&mut outbox).await.unwrap();
    producer.flush().await.unwrap();
}

/// The keys of the changelog's records.
async fn keys(site: &Site) -> Vec<String> {
    let place = site.partition(CHANGELOG, 0);
    let mut reader = site.cluster.reader(Isolation::ReadCommitted).unwrap();
    let ends = reader.watermarks(place.clone()).await.unwrap();
    let (mut at, mut keys) = (ends.earliest, Vec::new());
    while at < ends.stable {
        let read = reader.read(place.clone(), at, 1000, PATIENCE).await;
        let mut read = read.unwrap();
        at = read.next;
        while let Some(record) = read.batch.record(0, place.partition) {
            keys.push(String::from_utf8(record.key.unwrap().to_vec()).unwrap());
            read.batch.advance();
        }
    }
    keys
}

#[test]
fn a_key_whose_deletion_the_changelog_has_forgotten_does_not_come_back() {
    let Some(site) = Site::shared("forgotten") else {
        return;
    };
    block_on(async {
        site.make_topics(1).await;
        let eager = [
            ("cleanup.policy", "compact"),
            ("delete.retention.ms", "3000"),
            ("min.cleanable.dirty.ratio", "0.0001"),
            ("segment.ms", "50"),
        ];
        site.make_topic(CHANGELOG, 1, &eager).await;
        let state = tempfile::tempdir().unwrap();
        count(&site, state.path(), &["gone", "here"]).await;
        go_on(&site, &[("gone", None)]).await;
        let patience = site.clock.now() + PATIENCE;
        while keys(&site).await.iter().any(|key| key == "gone") {
            assert!(site.clock.now() < patience, "the deletion is still there");
            // The youngest records are spared.
            go_on(&site, &[("other", Some(1))]).await;
            site.pause(Duration::from_millis(100)).await;
        }
        let restored = count(&site, state.path(), &["gone", "here"]).await;
        assert_eq!(restored.entries, 2, "`here` and `other`");
        let counts = site.counts().await;
        assert_eq!(
            (&counts["gone"][..], &counts["here"][..]),
            (&[1, 1][..], &[1, 2][..])
        );
    });
}

/// Makes the state of partition 0 older.
fn grow_older(site: &Site, state: &Path, by: Duration) {
    let directory = state.join(site.name).join("count").join("0");
    let spec = Table::<String, u64>::default().spec("counts".into());
    let opened = Environment::open(&directory, &[spec], &EnvironmentOptions::default()).unwrap();
    let environment = opened.environment;
    let next = environment.position(0).unwrap().unwrap();
    let followed = environment.followed(0).unwrap().unwrap();
    let until = followed.until.saturating_sub(by);
    environment
        .follow(0, next, Followed { until, ..followed })
        .unwrap();
    environment.close().unwrap();
}

#[test]
fn a_changelog_that_keeps_deletions_for_longer_than_a_day_is_trusted_for_longer() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let Some(site) = Site::shared("three-days") else {
        return;
    };
    block_on(async {
        site.make_topics(1).await;
        let three_days = (3 * DAY).as_millis().to_string();
        let config = [
            ("cleanup.policy", "compact"),
            ("delete.retention.ms", &*three_days),
        ];
        site.make_topic(CHANGELOG, 1, &config).await;
        let state = tempfile::tempdir().unwrap();
        count(&site, state.path(), &["a", "b"]).await;
        go_on(&site, &[("c", Some(1))]).await;
        grow_older(&site, state.path(), 2 * DAY);
        assert_eq!(count(&site, state.path(), &["a"]).await.replayed, 1);
        go_on(&site, &[("c", Some(2))]).await;
        grow_older(&site, state.path(), 4 * DAY);
        // All that was ever written: of `a`, `b`, `c`, `a` and `c`.
        assert_eq!(count(&site, state.path(), &["a"]).await.replayed, 5);
        assert_eq!(site.counts().await["a"], [1, 2, 3]);
    });
}
