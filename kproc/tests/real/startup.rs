//! What is checked before a group is joined, on a real Kafka.

use std::{path::Path, process::ExitCode, time::Duration};

use kproc::{
    App, RunError, RunState,
    cluster::{Cluster, Event, JoinRequest},
    prelude::*,
};

use crate::kit::{COUNTS, KEYS, Site, block_on, stop};

/// The next version of [`Count`]: it also keeps the longest value of each key.
#[processor(name = "count")]
#[derive(Default)]
struct CountMore {
    #[state]
    longest: Table<String, u64>,
    #[state]
    counts: Table<String, u64>,
}

#[processor]
impl CountMore {
    #[on_message(KEYS)]
    fn count(&mut self, ctx: &mut Context<'_>, key: &str, value: &str) -> Result<()> {
        self.longest.put(key, &(value.len() as u64))?;
        let mut count = self.counts.entry(key)?.or_default();
        *count += 1;
        ctx.send(&COUNTS, key, &*count)?;
        Ok(())
    }
}

fn next_version(site: &Site, state: &Path) -> App {
    site.app_of(site.name, state).processor::<CountMore>()
}

async fn faults(app: App) -> Vec<String> {
    match app.start().unwrap().wait().await {
        Err(RunError::Check(faults)) => faults,
        other => panic!("expected faults, and got {other:?}"),
    }
}

/// Scenarios C01, C02, C05: whatever the topics lack is told at once; with the members of another version.
#[test]
fn c01_c02_c05_all_faults_are_told_at_once() {
    let Some(site) = Site::shared("faults") else {
        return;
    };
    block_on(async {
        let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        site.make_topics(2).await;
        let running = site.app(old.path()).start().unwrap();
        site.write(["apple"]).await;
        site.counted(&[&running], 1).await;

        // A changelog that is left over from something else, and one whose setting was changed.
        site.make_topic("count-longest-changelog", 3, &[("cleanup.policy", "delete")])
            .await;
        let faults = faults(next_version(&site, new.path())).await;
        assert_eq!(faults.len(), 3, "{faults:#?}");
        for (fault, parts) in faults.iter().zip([
            [
                "`faults-count-longest-changelog`",
                "has 3 partitions",
                "`faults-keys` has 2",
            ],
            [
                "`faults-count-longest-changelog`",
                "`cleanup.policy=delete`",
                "`compact`",
            ],
            ["group `faults`", "`count/longest`", "stop all old instances"],
        ]) {
            for part in parts {
                assert!(fault.contains(part), "{part}: {faults:#?}");
            }
        }
        stop(&running, Duration::from_secs(20)).await;
    });
}

/// Scenarios D10, D12: a store that is new starts empty, and a changelog that was deleted is missed.
#[test]
fn d10_d12_new_stores_start_and_deleted_changelogs_do_not() {
    let Some(site) = Site::shared("stores") else {
        return;
    };
    block_on(async {
        let state = tempfile::tempdir().unwrap();
        site.make_topics(2).await;
        let running = site.app(state.path()).start().unwrap();
        site.write(["apple"]).await;
        site.counted(&[&running], 1).await;
        stop(&running, Duration::from_secs(20)).await;

        let running = next_version(&site, state.path()).start().unwrap();
        site.write(["apple"]).await;
        let counts = site.counted(&[&running], 2).await;
        assert_eq!(counts["apple"], [1, 2]);
        stop(&running, Duration::from_secs(20)).await;

        let deleted = site.topic("count-longest-changelog");
        let outcomes = site.admin().delete(vec![deleted.as_str().into()]).await.unwrap();
        assert_eq!(outcomes, [Ok(())]);
        let elsewhere = tempfile::tempdir().unwrap();
        for place in [state.path(), elsewhere.path()] {
            let faults = faults(next_version(&site, place)).await;
            assert!(faults.len() == 1 && faults[0].contains(&deleted), "{faults:#?}");
            assert!(faults[0].contains("was deleted"), "{faults:#?}");
        }
        // As the message says: the topic is made, and what is left of the state removed.
        // A command has an executor of its own, and so needs a thread of its own.
        let (site, place) = (&site, state.path());
        std::thread::scope(|scope| {
            let command = scope.spawn(|| {
                for command in [&["stores", "topics"][..], &["stores", "topics", "--create"]] {
                    let app = next_version(site, place);
                    let done = app.main_with(command.iter().map(Into::into));
                    assert_eq!(done, ExitCode::SUCCESS, "{command:?}");
                }
            });
            command.join().unwrap();
        });
        let made = site
            .admin()
            .describe(vec![deleted.into()])
            .await
            .unwrap()
            .remove(0);
        assert_eq!(made.unwrap().partitions, 2);
        std::fs::remove_dir_all(state.path().join("stores/count")).unwrap();
        let running = next_version(site, place).start().unwrap();
        site.write(["apple"]).await;
        let counts = site.counted(&[&running], 3).await;
        assert_eq!(counts["apple"], [1, 2, 3]);
        stop(&running, Duration::from_secs(20)).await;
    });
}

/// Scenario C06: changelogs have the partitions of the inputs, in whatever order things are made. (The broker's own
/// default is one.)
#[test]
fn c06_changelogs_have_the_partitions_of_their_inputs() {
    let Some(site) = Site::shared("chain") else { return };
    block_on(async {
        let state = tempfile::tempdir().unwrap();
        for topic in ["keys", "counts"] {
            site.make_topic(topic, 5, &[]).await;
        }
        let app = site.app(state.path()).processor::<Again>();
        let running = app.start().unwrap();
        site.write(["apple", "apple"]).await;
        site.counted(&[&running], 2).await;
        stop(&running, Duration::from_secs(20)).await;
        let changelogs = ["count-counts-changelog", "again-last-changelog"];
        let names = changelogs.map(|name| site.topic(name).into()).to_vec();
        for found in site.admin().describe(names).await.unwrap() {
            assert_eq!(found.unwrap().partitions, 5);
        }
    });
}

/// Keeps what [`Count`] has sent.
#[processor]
#[derive(Default)]
struct Again {
    #[state]
    last: Table<String, u64>,
}

#[processor]
impl Again {
    #[on_message(COUNTS)]
    fn keep(&mut self, _: &mut Context<'_>, key: &str, value: u64) -> Result<()> {
        self.last.put(key, &value)?;
        Ok(())
    }
}

/// An instance of another version that has died is waited for, as long as its session lasts.
#[test]
fn a_version_that_has_died_does_not_keep_the_next_from_starting() {
    let Some(site) = Site::shared("died") else { return };
    block_on(async {
        site.make_topics(1).await;
        let mut other = site
            .cluster
            .join(JoinRequest {
                // Longer than what follows takes on any machine.
                session_timeout: Duration::from_secs(6),
                revoke_timeout: Duration::from_secs(6),
                client_id: "died.kproc1.i.p.s".into(),
                ..site.join_request("died")
            })
            .unwrap();
        let event = other.next_event().await;
        assert!(matches!(event, Event::Assigned(_)), "{event:?}");
        let state = tempfile::tempdir().unwrap();
        let running = site.app(state.path()).start().unwrap();
        site.pause(Duration::from_millis(700)).await;
        assert_eq!(running.status().state, RunState::Starting, "it waits");
        // As by a crash.
        drop((event, other));
        site.write(["apple"]).await;
        let counts = site.counted(&[&running], 1).await;
        assert_eq!(counts["apple"], [1]);
        stop(&running, Duration::from_secs(20)).await;
    });
}
