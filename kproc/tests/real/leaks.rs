//! Partitions may come and go as often as they like: no files, threads or memory stay behind.
//!
//! In a process of its own, for all of that is counted.

use std::{fs, process::Command, time::Duration};

use kproc::Clock;

use crate::{
    diary::{Diary, diarist, partitions, until, write},
    kit::{Site, block_on, stop},
};

/// What tells the other process where to work, and for how many rounds.
const BROKERS: &str = "KPROC_TEST_LEAKS_BROKERS";
const ROUNDS: &str = "KPROC_TEST_LEAKS_ROUNDS";

/// How much more memory each round may use, in KiB: the diary.
const PER_ROUND: usize = 24;
/// And all of them together: what caches settle to. A client that is not freed has hundreds, in each round.
const SETTLING: usize = 256;

/// Runs rounds in another process.
fn run(site: &Site, rounds: u32) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["leaks::rounds", "--exact", "--ignored", "--nocapture"])
        .env(BROKERS, &site.brokers)
        .env(ROUNDS, rounds.to_string())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    println!("{said}");
    let ended = said.contains(&format!("{rounds} rounds"));
    assert!(output.status.success() && ended, "{said}");
}

/// Scenario G13, for as many rounds as a test may take.
#[test]
fn g13_files_and_threads_stay_as_many_as_they_are() {
    if let Some(site) = Site::shared("leaks") {
        run(&site, 10);
    }
}

/// All of scenario G13: `cargo test -p kproc --test real -- --ignored g13_two_hundred --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn g13_two_hundred_rounds() {
    if let Some(site) = Site::shared("leaks") {
        run(&site, 200);
    }
}

/// Open files, threads, and memory.
#[derive(Debug, Clone, Copy)]
struct Held {
    files: usize,
    threads: usize,
    /// Allocated and not freed, by Rust, librdkafka and LMDB.
    kibibytes: usize,
    /// What the process has of the system, in KiB. It is only printed: glibc keeps what was freed for the threads that
    /// used it, so that this grows for dozens of rounds until each of its arenas has had a store in it.
    resident: usize,
}

fn held() -> Held {
    let entries = |of: &str| fs::read_dir(format!("/proc/self/{of}")).unwrap().count();
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    // SAFETY: it takes nothing, and looks at each arena under its lock.
    let memory = unsafe { libc::mallinfo2() };
    Held {
        files: entries("fd"),
        threads: entries("task"),
        kibibytes: (memory.uordblks + memory.hblkhd) / 1024,
        resident: pages * 4,
    }
}

/// The least of each within some time: clients take a while to end.
async fn settled(site: &Site) -> Held {
    let mut least = held();
    for _ in 0..50 {
        site.pause(Duration::from_millis(50)).await;
        let now = held();
        least = Held {
            files: least.files.min(now.files),
            threads: least.threads.min(now.threads),
            kibibytes: least.kibibytes.min(now.kibibytes),
            resident: now.resident,
        };
    }
    least
}

/// A guest comes and goes.
#[test]
#[ignore = "is run by another test"]
fn rounds() {
    let (Ok(brokers), Ok(rounds)) = (std::env::var(BROKERS), std::env::var(ROUNDS)) else {
        return;
    };
    let (site, rounds): (_, usize) = (Site::at(&brokers, "leaks-rounds"), rounds.parse().unwrap());
    block_on(async {
        site.make_topics(2).await;
        let (diary, states) = (Diary::default(), [(), ()].map(|()| tempfile::tempdir().unwrap()));
        let start = |instance: u64| {
            let state = &states[usize::from(instance > 0)];
            diarist(&site, instance, state.path(), &diary, None)
                .start()
                .unwrap()
        };
        let lasting = start(0);
        let begun = site.clock.now();
        let mut before = None;
        for round in 1..=rounds {
            let guest = start(round as u64);
            until(&site, "each has a partition", || {
                [&guest, &lasting].map(|running| partitions(running).len()) == [1, 1]
            })
            .await;
            for partition in 0..2 {
                write(&site, partition, "key", 1).await;
            }
            until(&site, "both records are processed", || {
                (0..2).all(|partition| diary.offsets(partition).len() == round)
            })
            .await;
            stop(&guest, Duration::from_secs(20)).await;
            until(&site, "both are back", || partitions(&lasting).len() == 2).await;
            // The first rounds make what stays, such as clients that wait for the next reader.
            if round == 4 {
                before = Some(settled(&site).await);
            }
        }
        let took = site.clock.now().saturating_sub(begun);
        let (before, after) = (before.unwrap(), settled(&site).await);
        println!("{rounds} rounds in {took:?}: {before:?}, {after:?}");
        let flat = after.files <= before.files + 4
            && after.threads <= before.threads + 4
            && after.kibibytes <= before.kibibytes + SETTLING + PER_ROUND * (rounds - 4);
        assert!(flat, "after four rounds {before:?}, in the end {after:?}");
        stop(&lasting, Duration::from_secs(20)).await;
    });
}
