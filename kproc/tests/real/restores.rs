//! State comes back from changelogs: side by side, through rebalances and deaths, and no more often than needed.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use kproc::{
    Offset, Partition, Running, TaskPhase,
    cluster::{Cluster, ProducerOptions},
    outbox::{Outbox, RawRecord},
};

use crate::{
    diary::{Diary, diarist, partitions, until, write},
    kit::{CHANGELOG, SHORT_SESSION, Site, block_on, stop},
};

/// Writes the changelog of an application that has counted each of `keys` keys seven times in a partition, and is to go on
/// at the start of its input.
async fn fill(site: &Site, partition: u32, keys: usize) {
    let topic: Arc<str> = site.topic(CHANGELOG).into();
    let mut producer = site.cluster.producer(ProducerOptions::default()).unwrap();
    let mut outbox = Outbox::default();
    for number in 0..keys {
        let key = format!("key {number}");
        let record = RawRecord {
            partition: Some(Partition::new(partition)),
            key: Some(key.as_bytes()),
            value: Some(&7_u64.to_be_bytes()),
            ..RawRecord::default()
        };
        outbox.push_raw(&topic, &record);
        if outbox.bytes() > 1 << 20 {
            producer.send(&mut outbox).await.unwrap();
        }
    }
    producer.send(&mut outbox).await.unwrap();
    producer.flush().await.unwrap();
    // State of a group without offsets would be refused.
    let begin = vec![(site.partition("keys", partition), Some(Offset::ZERO))];
    site.admin()
        .set_group_offsets(site.name.to_owned(), begin)
        .await
        .unwrap();
}

/// How far the restore of a partition is, if it is known.
fn progress(running: &Running, partition: u32) -> Option<(u64, u64)> {
    running.status().tasks.iter().find_map(|task| match task.phase {
        TaskPhase::Restoring { done, total } if task.partition.get() == partition && total > 0 => {
            Some((done, total))
        }
        _ => None,
    })
}

/// A task whose changelog is small does not wait for another one's restore.
#[test]
fn a_small_restore_does_not_wait_for_a_large_one() {
    let Some(site) = Site::shared("side-by-side") else {
        return;
    };
    block_on(async {
        site.make_topics(2).await;
        site.make_changelog(2).await;
        fill(&site, 0, 200_000).await;
        fill(&site, 1, 1).await;
        write(&site, 1, "key 0", 1).await;
        let (diary, state) = (Diary::default(), tempfile::tempdir().unwrap());
        let running = diarist(&site, 1, state.path(), &diary, None).start().unwrap();
        site.counted(&[&running], 1).await;
        until(&site, "both are at work", || {
            (0..2).all(|partition| !diary.of(partition).is_empty())
        })
        .await;
        let began = [0, 1].map(|partition| diary.of(partition)[0].at);
        assert!(began[1] < began[0], "{began:?}");
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(site.counts().await["key 0"], [8]);
    });
}

/// A rebalance in the middle of restores: what leaves is let go at once, what stays is restored once.
#[test]
fn a_rebalance_in_the_middle_of_restores_is_survived() {
    let Some(site) = Site::shared("moved-restore") else {
        return;
    };
    block_on(async {
        site.make_topics(2).await;
        site.make_changelog(2).await;
        for partition in 0..2 {
            fill(&site, partition, 100_000).await;
        }
        let (diary, states) = (Diary::default(), [(), ()].map(|()| tempfile::tempdir().unwrap()));
        let start = |instance: u64| {
            let state = &states[instance as usize];
            diarist(&site, instance, state.path(), &diary, None)
                .start()
                .unwrap()
        };
        let first = start(0);
        let mut restores = [false; 2];
        until(&site, "the first restores both, or has done so", || {
            for (partition, restores) in (0..).zip(&mut restores) {
                *restores |= progress(&first, partition).is_some();
            }
            restores == [true; 2] || partitions(&first).len() == 2
        })
        .await;
        let second = start(1);
        until(&site, "each runs one", || {
            [&first, &second].map(partitions).concat().len() == 2 && partitions(&second).len() == 1
        })
        .await;
        for partition in 0..2 {
            write(&site, partition, "key 5", 1).await;
        }
        let counts = site.counted(&[&first, &second], 2).await;
        assert_eq!(counts["key 5"], [8, 8], "one in each partition");
        for running in [&first, &second] {
            stop(running, Duration::from_secs(20)).await;
        }
    });
}

/// What tells the process that is to be killed where to work.
const BROKERS: &str = "KPROC_TEST_D30_BROKERS";
const STATE: &str = "KPROC_TEST_D30_STATE";

/// Scenario D30: a process is killed in the middle of a restore; the next one goes on from there.
#[test]
fn d30_a_restore_that_was_killed_goes_on_where_it_was() {
    const KEYS: usize = 200_000;
    let Some(site) = Site::shared("d30") else { return };
    block_on(async {
        site.make_topics(1).await;
        site.make_changelog(1).await;
        fill(&site, 0, KEYS).await;
        let state = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["restores::d30_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(BROKERS, &site.brokers)
            .env(STATE, state.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let done = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("restored ")?.parse::<u64>().ok());
        child.wait().unwrap();
        let done = done.expect("it has restored some");

        let diary = Diary::default();
        let running = diarist(&site, 1, state.path(), &diary, None).start().unwrap();
        until(&site, "it runs", || !partitions(&running).is_empty()).await;
        let rest = running.status().tasks[0].restored.expect("it is over").replayed;
        println!("killed at {done}, {rest} to go");
        assert!(
            rest > 0 && rest <= KEYS as u64 - done,
            "{done} were restored, {rest} are to go"
        );
        write(&site, 0, "key 5", 1).await;
        assert_eq!(site.counted(&[&running], 1).await["key 5"], [8]);
        stop(&running, Duration::from_secs(20)).await;
    });
}

/// The process that is killed: by itself, so that it is not too late. Tells how far it is.
#[test]
#[ignore = "is run by another test"]
fn d30_is_killed() {
    let (Ok(brokers), Some(state)) = (std::env::var(BROKERS), std::env::var_os(STATE)) else {
        return;
    };
    let site = Site::at(&brokers, "d30");
    block_on(async {
        let running = diarist(&site, 0, Path::new(&state), &Diary::default(), None)
            .configure(|settings| settings.session_timeout = SHORT_SESSION)
            .start()
            .unwrap();
        loop {
            let changed = running.changed();
            if let Some((done @ 1.., _)) = progress(&running, 0) {
                println!("restored {done}");
                std::process::abort();
            }
            changed.await;
        }
    });
}
