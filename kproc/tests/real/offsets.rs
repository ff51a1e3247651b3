//! Offsets and positions that are not what they were: out of retention, expired, cut off. The position never jumps.

use std::{path::Path, time::Duration};

use kproc::{
    Clock, Offset,
    cluster::{Cluster, ClusterErrorKind, Isolation},
};

use crate::{
    broker::TestBroker,
    kit::{PATIENCE, Site, block_on, stop},
    proxy::{Proxy, Rule},
};

/// It has a second address, behind a proxy.
static BEHIND: TestBroker = TestBroker::new(&[]);

const STOP: Duration = Duration::from_secs(20);

/// Counts what is in `keys` until that many counts were written, and stops.
async fn count(site: &Site, state: &Path, number: usize) {
    let running = site.app(state).start().unwrap();
    site.counted(&[&running], number).await;
    stop(&running, STOP).await;
}

/// What the application stops with by itself.
async fn refusal(site: &Site, state: &Path, parts: &[&str]) {
    let running = site.app(state).start().unwrap();
    let error = running.wait().await.unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

fn exact(number: u64) -> Vec<u64> {
    (1..=number).collect()
}

#[test]
fn c22_d07_a_committed_offset_that_is_out_of_retention_is_an_error_and_no_jump() {
    let Some(site) = Site::shared("c22") else { return };
    block_on(async {
        site.make_topics(1).await;
        let state = tempfile::tempdir().unwrap();
        site.write(["k"; 10]).await;
        count(&site, state.path(), 10).await;
        site.write(["k"; 20]).await;
        site.delete_records("keys", 25).await;
        let parts = [
            "c22-keys[0]",
            "offset 10",
            "first offset that it still has is 25",
            "--group c22 --reset-offsets",
        ];
        refusal(&site, state.path(), &parts).await;
        assert_eq!(site.counts().await["k"], exact(10), "nothing was jumped to");

        site.set_offset(Some(25)).await;
        count(&site, state.path(), 15).await;
        assert_eq!(
            site.counts().await["k"],
            exact(15),
            "a person may pass over what is lost"
        );
    });
}

#[test]
fn c23_offsets_that_expired_are_taken_from_the_state_or_else_missed() {
    let Some(site) = Site::shared("c23") else { return };
    block_on(async {
        site.make_topics(1).await;
        let state = tempfile::tempdir().unwrap();
        site.write(["k"; 10]).await;
        count(&site, state.path(), 10).await;
        site.set_offset(None).await;
        site.write(["k"; 5]).await;
        count(&site, state.path(), 15).await;
        assert_eq!(site.counts().await["k"], exact(15));

        site.set_offset(None).await;
        let elsewhere = tempfile::tempdir().unwrap();
        let parts = ["c23-keys[0]", "no committed offset any more", "count twice"];
        refusal(&site, elsewhere.path(), &parts).await;
        assert_eq!(site.counts().await["k"], exact(15));
        // The way out that the message names.
        site.set_offset(Some(15)).await;
        site.write(["k"]).await;
        count(&site, elsewhere.path(), 16).await;
        assert_eq!(site.counts().await["k"], exact(16));
    });
}

#[test]
fn d03_a_store_behind_the_start_of_its_changelog_is_rebuilt_from_what_is_left() {
    let Some(site) = Site::shared("d03") else { return };
    block_on(async {
        site.make_topics(1).await;
        let changelog = "count-counts-changelog";
        let policy = [("cleanup.policy", "compact,delete")];
        site.make_topic(changelog, 1, &policy).await;
        let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        site.write(["apple", "plum"]).await;
        count(&site, old.path(), 2).await;
        // The state in `old` stays behind, and then the changelog loses its beginning.
        site.write(["apple", "plum"]).await;
        count(&site, new.path(), 4).await;
        site.delete_records(changelog, 2).await;
        site.write(["apple", "plum"]).await;
        count(&site, old.path(), 6).await;
        let counts = site.counts().await;
        assert_eq!((&counts["apple"], &counts["plum"]), (&exact(3), &exact(3)));
    });
}

/// The connection is lost while a broker is asked where a partition ends. That is an error that passes, and no empty partition: a
/// restore would find nothing in it, and count on from nothing.
#[test]
fn an_end_that_nobody_has_told_is_no_end() {
    let Some((proxy, address, behind)) = Proxy::before(&BEHIND) else {
        return;
    };
    let site = Site::at(address, "untold");
    let behind = Site::at(&behind, "untold");
    block_on(async {
        site.make_topic("keys", 1, &[]).await;
        site.write(["a", "b"]).await;
        let place = site.partition("keys", 0);
        let mut reader = behind.cluster.reader(Isolation::ReadCommitted).unwrap();
        let end = reader.watermarks(place.clone()).await.unwrap().latest;
        assert_eq!(end, Offset::new(2));

        proxy.rule(Rule::LosePlaces);
        let error = reader.watermarks(place.clone()).await.unwrap_err();
        assert_eq!(error.kind, ClusterErrorKind::Retriable, "{error}");
        assert!(proxy.lost() > 0, "{error}");

        proxy.rule(Rule::Pass);
        let patience = site.clock.now() + PATIENCE;
        let end = loop {
            match reader.watermarks(place.clone()).await {
                Ok(ends) => break ends.latest,
                Err(error) => {
                    assert_eq!(error.kind, ClusterErrorKind::Retriable, "{error}");
                    assert!(site.clock.now() < patience, "{error}");
                }
            }
            site.pause(Duration::from_millis(50)).await;
        };
        assert_eq!(end, Offset::new(2));
    });
}
