//! Transactions that end otherwise than by their producer, or not at all for a while: deaths, freezes, brokers that come and
//! go, and two that think they are one.

use std::{path::Path, time::Duration};

use kproc::{Clock, cluster::Watermarks};

use crate::{
    broker::{TestBroker, counts::number_of},
    child::Counter,
    exactly_once::up_to,
    kit::{CHANGELOG, PATIENCE, Site, block_on},
    proxy::{Proxy, Rule},
};

/// It is usable soon after a crash: by default it waits until its former life has timed out.
static RESTARTED: TestBroker = TestBroker::new(&[
    "broker.session.timeout.ms=1500",
    "broker.heartbeat.interval.ms=300",
]);

/// It has a second address, behind a proxy.
static BEHIND: TestBroker = TestBroker::new(&[]);

/// So many keys, each so often: several transactions, each of which takes a while.
const KEYS: usize = 20_000;
const EACH: usize = 2;

/// Writes all keys, each so often.
async fn write(site: &Site) {
    let keys: Vec<_> = (0..KEYS).map(|number| number.to_string()).collect();
    for _ in 0..EACH {
        site.write(&keys).await;
    }
}

/// Writes records, and has a process count them, until it is in the middle of a transaction. Where the changelog ends then.
async fn stuck_in_transaction(site: &Site, state: &Path, timeout: Duration) -> (Counter, Watermarks) {
    site.make_topics(1).await;
    site.make_changelog(1).await;
    write(site).await;
    let mut counter = Counter::start(site, state, timeout);
    let frozen = counter.freeze_in_transaction(site, CHANGELOG).await;
    (counter, frozen)
}

/// Waits until all is counted that was written in so many rounds, each record once.
async fn all_counted(site: &Site, counter: &mut Counter, rounds: usize) {
    let counts = counter.counted(site, rounds * KEYS * EACH).await;
    assert_eq!(counts.len(), KEYS);
    for (key, counts) in counts {
        assert_eq!(counts, up_to(rounds * EACH), "{key}");
    }
}

/// Waits until the transaction is over that was open when the changelog ended there, and says how long that took.
async fn settled(site: &Site, open: Watermarks, counter: &mut Counter) -> Duration {
    let begun = site.clock.now();
    while site.ends(CHANGELOG).await.stable < open.latest {
        counter.assert_alive();
        assert!(site.clock.now() < begun + PATIENCE, "it stays open: {open:?}");
        site.pause(Duration::from_millis(20)).await;
    }
    let took = site.clock.now().saturating_sub(begun);
    println!("settled after {took:?}");
    took
}

/// Scenario E14: a process dies in the middle of a transaction. With its directory it comes back under its id, and settles that
/// at once.
#[test]
fn e14_a_death_in_mid_transaction_is_settled_at_once_with_the_directory() {
    let Some(site) = Site::shared("e14") else { return };
    let timeout = Duration::from_secs(60);
    block_on(async {
        let state = tempfile::tempdir().unwrap();
        let (counter, open) = stuck_in_transaction(&site, state.path(), timeout).await;
        counter.kill();
        let mut counter = Counter::start(&site, state.path(), timeout);
        let took = settled(&site, open, &mut counter).await;
        assert!(took < timeout / 2, "{took:?}");
        all_counted(&site, &mut counter, 1).await;
        counter.stop();
    });
}

/// Scenario E14: without its directory it comes back as another, and waits until the brokers have ended the transaction. It
/// says so.
#[test]
fn e14_a_death_in_mid_transaction_is_waited_for_without_the_directory() {
    let Some(site) = Site::shared("e14-wiped") else {
        return;
    };
    // The session of the dead one, of 5 s, is over long before, and its partitions are given to the other.
    let timeout = Duration::from_secs(20);
    block_on(async {
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (counter, open) = stuck_in_transaction(&site, states[0].path(), timeout).await;
        counter.kill();
        let mut counter = Counter::start(&site, states[1].path(), timeout);
        settled(&site, open, &mut counter).await;
        all_counted(&site, &mut counter, 1).await;
        let log = counter.stop();
        assert!(log.contains("a transaction that is not decided"), "{log}");
    });
}

/// The brokers end a transaction whose producer does nothing for too long. The producer hears of it when it goes on, and what
/// it was about is done again.
#[test]
fn the_brokers_end_a_transaction_of_a_process_that_was_frozen() {
    let Some(site) = Site::shared("timed-out") else {
        return;
    };
    block_on(async {
        let state = tempfile::tempdir().unwrap();
        let (mut counter, open) = stuck_in_transaction(&site, state.path(), Duration::from_secs(2)).await;
        settled(&site, open, &mut counter).await;
        let before = number_of(&site.counts().await);
        assert!(before < KEYS * EACH, "nothing was left to do");
        counter.thaw();
        all_counted(&site, &mut counter, 1).await;
        let log = counter.stop();
        assert!(log.contains("goes back to its last commit"), "{log}");
    });
}

/// A broker dies, and stops in good order, in the middle of transactions: all is exact, and a new directory gets the same state.
#[test]
fn brokers_that_restart_in_the_middle_of_commits_cost_nothing() {
    let Some(address) = RESTARTED.address() else {
        return;
    };
    let site = Site::at(address, "restarted");
    let timeout = Duration::from_secs(20);
    block_on(async {
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (mut counter, _) = stuck_in_transaction(&site, states[0].path(), timeout).await;
        for (round, what) in ["kill", "stop"].into_iter().enumerate() {
            if round > 0 {
                write(&site).await;
                counter.freeze_in_transaction(&site, CHANGELOG).await;
            }
            counter.thaw();
            RESTARTED.tell(what);
            site.pause(Duration::from_millis(500)).await;
            RESTARTED.tell("start");
            all_counted(&site, &mut counter, round + 1).await;
        }
        counter.stop();
        let mut counter = Counter::start(&site, states[1].path(), timeout);
        site.write(["0"]).await;
        let counts = counter.counted(&site, 2 * KEYS * EACH + 1).await;
        assert_eq!(counts["0"], up_to(2 * EACH + 1));
        counter.stop();
    });
}

/// What ends a transaction gets lost. The answer: it is asked for again until it is known what the outcome is, also by a process
/// that comes back after it was killed meanwhile. The request, and the process with its directory: the offsets that the
/// transaction holds are waited for by another one, which says so.
#[test]
fn e05_e14_the_outcome_of_a_commit_is_asked_for_and_never_assumed() {
    let Some((proxy, address, behind)) = Proxy::before(&BEHIND) else {
        return;
    };
    let site = Site::at(address, "unknown");
    // Where the processes find the broker.
    let behind = Site::at(&behind, "unknown");
    // The session of one that was killed, of 5 s, is over long before.
    let timeout = Duration::from_secs(20);
    block_on(async {
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        site.make_topics(1).await;
        site.make_changelog(1).await;
        let mut counter = Counter::start(&behind, states[0].path(), timeout);
        proxy.rule(Rule::LoseAnswers);
        write(&site).await;
        loses(&site, &proxy, &mut counter, 3).await;
        proxy.rule(Rule::Pass);
        all_counted(&site, &mut counter, 1).await;

        proxy.rule(Rule::LoseAnswers);
        write(&site).await;
        loses(&site, &proxy, &mut counter, 1).await;
        counter.kill();
        proxy.rule(Rule::Pass);
        let mut counter = Counter::start(&behind, states[0].path(), timeout);
        all_counted(&site, &mut counter, 2).await;

        proxy.rule(Rule::LoseRequests);
        write(&site).await;
        loses(&site, &proxy, &mut counter, 1).await;
        counter.kill();
        let open = site.ends(CHANGELOG).await;
        // Whoever asks how far it is does not wait.
        assert!(site.lag().await > 0);
        proxy.rule(Rule::Pass);
        let mut counter = Counter::start(&behind, states[1].path(), timeout);
        settled(&site, open, &mut counter).await;
        all_counted(&site, &mut counter, 3).await;
        let log = counter.stop();
        println!("{log}");
        assert!(
            log.contains("a transaction that is not decided may hold"),
            "{log}"
        );
    });
}

/// Waits until so many more were lost.
async fn loses(site: &Site, proxy: &Proxy, counter: &mut Counter, number: usize) {
    let (before, patience) = (proxy.lost(), site.clock.now() + PATIENCE);
    while proxy.lost() < before + number {
        counter.assert_alive();
        assert!(site.clock.now() < patience, "nothing is lost: {}", counter.log());
        site.pause(Duration::from_millis(5)).await;
    }
}
