//! After a death the state is not read again: only what its changelog has beyond it.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use kproc::{App, Restored, Running};

use crate::{
    diary::{partitions, until},
    exactly_once::exactly,
    kit::{SHORT_SESSION, Site, block_on, stop},
};

/// How many keys the store has.
const KEYS: usize = 50_000;
/// What the one that is killed still has to count at that moment: at most so much is in its last commits.
const MORE: usize = 2_000;
/// What another one counts after that.
const BY_ANOTHER: usize = 300;

/// What tells the process that is to be killed where to work.
const BROKERS: &str = "KPROC_TEST_TAIL_BROKERS";
const STATE: &str = "KPROC_TEST_TAIL_STATE";

fn app(site: &Site, state: &Path) -> App {
    let app = site.app(state);
    let app = app.configure(|settings| settings.session_timeout = SHORT_SESSION);
    exactly(app, Duration::from_secs(10))
}

fn keys(from: usize, to: usize) -> impl Iterator<Item = String> {
    (from..to).map(|number| format!("key {number}"))
}

/// What the restore of the only task took, once it runs.
async fn restored(site: &Site, running: &Running) -> Restored {
    until(site, "it runs", || !partitions(running).is_empty()).await;
    running.status().tasks[0].restored.expect("it is over")
}

/// Killed under exactly-once, an instance replays what its changelog has beyond the position in its state: what its own last
/// commit may have been, and what another has counted meanwhile. The other, without any state, replays all of it.
#[test]
fn a_kill_costs_no_more_than_what_the_changelog_has_beyond_the_state() {
    let Some(site) = Site::shared("tail") else { return };
    block_on(async {
        site.make_topics(1).await;
        let states = [(), ()].map(|()| tempfile::tempdir().unwrap());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["tails::tail_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(BROKERS, &site.brokers)
            .env(STATE, states[0].path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        site.write(keys(0, KEYS)).await;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let all = lines.any(|line| line.is_ok_and(|line| line == "counted"));
        assert!(all, "it has ended before it was killed");
        site.write(keys(0, MORE)).await;
        child.kill().unwrap();
        child.wait().unwrap();

        let another = app(&site, states[1].path()).start().unwrap();
        let whole = restored(&site, &another).await;
        assert!(
            whole.replayed >= KEYS as u64 && whole.entries == KEYS as u64,
            "from nothing: {whole:?}"
        );
        site.counted(&[&another], KEYS + MORE).await;
        site.write(keys(0, BY_ANOTHER)).await;
        site.counted(&[&another], KEYS + MORE + BY_ANOTHER).await;
        stop(&another, Duration::from_secs(20)).await;

        let again = app(&site, states[0].path()).start().unwrap();
        let tail = restored(&site, &again).await;
        println!("after the kill: {tail:?}; from nothing: {whole:?}");
        let most = (MORE + BY_ANOTHER) as u64;
        assert!(
            (BY_ANOTHER as u64..=most).contains(&tail.replayed) && tail.entries == KEYS as u64,
            "after the kill: {tail:?}"
        );
        site.write(keys(0, 1)).await;
        let counts = site.counted(&[&again], KEYS + MORE + BY_ANOTHER + 1).await;
        stop(&again, Duration::from_secs(20)).await;
        for (name, count) in [("key 0", 4), ("key 299", 3), ("key 1999", 2), ("key 49999", 1)] {
            let wanted: Vec<u64> = (1..=count).collect();
            assert_eq!(counts[name], wanted, "{name}");
        }
    });
}

/// The process that is killed. Tells when it has counted all keys, and has them in its state, and goes on.
#[test]
#[ignore = "is run by another test"]
fn tail_is_killed() {
    let (Ok(brokers), Some(state)) = (std::env::var(BROKERS), std::env::var_os(STATE)) else {
        return;
    };
    let site = Site::at(&brokers, "tail");
    block_on(async {
        let running = app(&site, Path::new(&state)).start().unwrap();
        site.counted(&[&running], KEYS).await;
        // What others see is committed before the state is: so that all of it is there, it stops, and goes on.
        stop(&running, Duration::from_secs(20)).await;
        let running = app(&site, Path::new(&state)).start().unwrap();
        until(&site, "it runs", || !partitions(&running).is_empty()).await;
        println!("counted");
        running.wait().await.unwrap();
    });
}
