//! Topics that are deleted, made again, or grow, while an application runs or between two runs.

use std::time::Duration;

use kproc::{Clock, Running, prelude::*};
use tempfile::TempDir;

use crate::{
    broker::tool,
    kit::{CHANGELOG, COUNTS, KEYS, PATIENCE, Site, block_on, stop},
};

const STOP: Duration = Duration::from_secs(20);

/// What the application stops with by itself, which must be soon.
async fn failure(running: &Running) -> String {
    let ended = tokio::time::timeout(PATIENCE, running.wait()).await;
    let error = ended.expect("it goes on for a minute").unwrap_err();
    assert_eq!(
        running.status().failure.as_ref(),
        Some(&error),
        "the status tells"
    );
    error.to_string()
}

/// An application on new topics of so many partitions, with state in this directory, that has counted these keys.
async fn begun(site: &Site, partitions: u32, keys: &[&str]) -> (TempDir, Running) {
    site.make_topics(partitions).await;
    let state = tempfile::tempdir().unwrap();
    site.write(keys).await;
    let running = site.app(state.path()).start().unwrap();
    site.counted(&[&running], keys.len()).await;
    (state, running)
}

#[test]
fn g01_an_input_that_is_deleted_stops_the_application_and_the_status_says_so() {
    let Some(site) = Site::shared("g01") else { return };
    block_on(async {
        let (_state, running) = begun(&site, 2, &["apple", "plum"]).await;
        site.delete_topic("keys").await;
        let error = failure(&running).await;
        assert!(error.contains("deleted"), "{error}");
    });
}

#[test]
fn g01_a_stop_keeps_its_deadline_when_the_input_was_deleted() {
    let Some(site) = Site::shared("g01-stop") else {
        return;
    };
    block_on(async {
        let (_state, running) = begun(&site, 2, &["apple", "plum"]).await;
        site.delete_topic("keys").await;
        let begun = site.clock.now();
        running.shutdown(Duration::from_secs(10));
        // Well, or with what was noticed first.
        let outcome = running.wait().await;
        let took = site.clock.now().saturating_sub(begun);
        assert!(took < Duration::from_secs(30), "{outcome:?}");
    });
}

#[test]
fn c21_an_input_that_is_made_again_stops_the_application() {
    let Some(site) = Site::shared("c21-run") else {
        return;
    };
    block_on(async {
        let (state, running) = begun(&site, 1, &["k"; 10]).await;
        site.delete_topic("keys").await;
        site.make_topic("keys", 1, &[]).await;
        site.write(["k"; 30]).await;
        let error = failure(&running).await;
        assert!(error.contains("deleted"), "{error}");
        let counted = site.counts().await["k"].len();
        // Neither now nor later is it gone on at stale offsets.
        let again = site.app(state.path()).start().unwrap();
        let error = failure(&again).await;
        assert!(error.contains("made again"), "{error}");
        assert_eq!(site.counts().await["k"].len(), counted);
    });
}

#[test]
fn c21_an_input_that_was_made_again_between_two_runs_is_told_from_the_old_one() {
    let Some(site) = Site::shared("c21-stop") else {
        return;
    };
    block_on(async {
        site.make_topics(1).await;
        let (state, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        site.write(["k"; 10]).await;
        let running = site.app(state.path()).start().unwrap();
        site.counted(&[&running], 10).await;
        stop(&running, STOP).await;
        site.delete_topic("keys").await;
        site.make_topic("keys", 1, &[]).await;
        site.write(["k"; 30]).await;
        for (state, wanted) in [
            (&state, "made again"),
            (&elsewhere, "no committed offset any more"),
        ] {
            let running = site.app(state.path()).start().unwrap();
            let error = failure(&running).await;
            assert!(error.contains(wanted), "{error}");
        }
        assert_eq!(site.counts().await["k"].len(), 10);
    });
}

#[test]
fn d10_a_changelog_that_was_made_again_is_told_from_the_one_of_the_state() {
    let Some(site) = Site::shared("d10-again") else {
        return;
    };
    block_on(async {
        let (state, running) = begun(&site, 1, &["k"; 10]).await;
        stop(&running, STOP).await;
        site.delete_topic(CHANGELOG).await;
        site.make_changelog(1).await;
        let running = site.app(state.path()).start().unwrap();
        let error = failure(&running).await;
        assert!(error.contains("another changelog"), "{error}");
    });
}

fn grow(site: &Site, topic: &str, partitions: &str) {
    let topic = site.topic(topic);
    let arguments = ["--alter", "--topic", &topic, "--partitions", partitions];
    let brokers = ["--bootstrap-server", &site.brokers];
    tool(
        "org.apache.kafka.tools.TopicCommand",
        &[&brokers[..], &arguments[..]].concat(),
    );
}

#[test]
fn c04_an_input_that_grows_stops_an_application_with_state() {
    let Some(site) = Site::shared("c04") else { return };
    block_on(async {
        let (state, running) = begun(&site, 2, &["apple", "plum"]).await;
        grow(&site, "keys", "4");
        let error = failure(&running).await;
        for part in ["c04-keys", "had 2 partitions", "Go on with a new topic"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let again = site.app(state.path()).start().unwrap();
        let error = failure(&again).await;
        assert!(error.contains("c04-count-counts-changelog"), "{error}");
    });
}

/// Sends each key on.
#[processor]
#[derive(Default)]
struct Forward {}

#[processor]
impl Forward {
    #[on_message(KEYS, start = latest)]
    fn forward(&mut self, ctx: &mut Context<'_>, key: &str, _value: &str) -> Result<()> {
        Ok(ctx.send(&COUNTS, key, &1)?)
    }
}

#[test]
fn c04_an_application_without_state_grows_with_its_input_and_misses_nothing() {
    let Some(site) = Site::shared("c04-less") else {
        return;
    };
    block_on(async {
        site.make_topics(1).await;
        let state = tempfile::tempdir().unwrap();
        let app = || site.app_of(site.name, state.path()).processor::<Forward>();
        let running = app().start().unwrap();
        // Where it begins is known now.
        running.drained().await.unwrap();
        grow(&site, "keys", "3");
        let keys: Vec<String> = (0..30).map(|number| format!("k{number}")).collect();
        site.write(&keys).await;
        site.counted(&[&running], 30).await;
        stop(&running, STOP).await;
        // The same while it does not run.
        grow(&site, "keys", "6");
        site.write(&keys).await;
        let running = app().start().unwrap();
        let counts = site.counted(&[&running], 60).await;
        stop(&running, STOP).await;
        assert!(
            counts.len() == 30 && counts.values().all(|seen| seen.len() == 2),
            "{counts:?}"
        );
    });
}
