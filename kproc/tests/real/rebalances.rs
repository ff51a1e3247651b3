//! Partitions come and go while applications work: nothing is lost, done twice or out of order, and what does not
//! move is left alone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kproc::{Clock, Running};

use crate::{
    broker::TestBroker,
    diary::{Diary, Line, What, Whim, diarist, partitions, until, write},
    kit::{PATIENCE, Site, block_on, stop},
};

/// As brokers before 4.0 are, in this.
static CLASSIC: TestBroker = TestBroker::new(&["group.coordinator.rebalance.protocols=classic"]);

/// Each tenure of a partition is over before the next begins, and its records are between its begin and its end.
fn assert_framed(lines: &[Line]) {
    let mut owner = None;
    for line in lines {
        match line.what {
            What::Began => assert_eq!(owner.replace(line.instance), None, "{lines:?}"),
            What::Processed(_) => assert_eq!(owner, Some(line.instance), "{lines:?}"),
            What::Ended => assert_eq!(owner.take(), Some(line.instance), "{lines:?}"),
        }
    }
    assert_eq!(owner, None, "{lines:?}");
}

/// Scenarios C12, C13, C14 and C17: five guests come and go while hundreds of records are buffered.
#[test]
fn c13_c17_ten_reassignments_keep_order_and_revoked_records_are_not_touched() {
    const EACH: usize = 300;
    const GUESTS: u64 = 5;
    let Some(site) = Site::shared("c13") else { return };
    block_on(async {
        site.make_topics(2).await;
        let (diary, states) = (Diary::default(), [(), ()].map(|()| tempfile::tempdir().unwrap()));
        // Slow enough that a guest finds something to do.
        let slow: Whim = Arc::new(|_| std::thread::sleep(Duration::from_millis(2)));
        let start = |instance: u64| {
            let state = &states[usize::from(instance > 0)];
            let app = diarist(&site, instance, state.path(), &diary, Some(slow.clone()));
            app.start().unwrap()
        };
        let lasting = start(0);
        let began_by = |guest| {
            let lines = diary.lines().into_iter();
            lines.filter(move |line| line.instance == guest)
        };
        let mut waited = Vec::new();
        let mut written = 0;
        for guest in 1..=GUESTS {
            let begun = site.clock.now();
            let running = start(guest);
            let has_processed = || began_by(guest).any(|line| matches!(line.what, What::Processed(_)));
            // For as long as it takes, so that there is something left when it has come.
            while !has_processed() {
                assert!(
                    site.clock.now() < begun + PATIENCE,
                    "guest {guest} processes nothing"
                );
                for partition in 0..2 {
                    write(&site, partition, "key", EACH).await;
                }
                written += EACH;
            }
            waited.extend(began_by(guest).map(|line| line.at.saturating_sub(begun)).min());
            stop(&running, Duration::from_secs(20)).await;
        }
        until(&site, "all is processed", || {
            (0..2).all(|partition| diary.offsets(partition).len() >= written)
        })
        .await;
        stop(&lasting, Duration::from_secs(20)).await;
        println!("guests waited {waited:?}");
        assert!(
            waited.iter().all(|time| *time < Duration::from_secs(30)),
            "{waited:?}"
        );
        for partition in 0..2 {
            let all: Vec<u64> = (0..written as u64).collect();
            assert_eq!(diary.offsets(partition), all, "each once, in order");
            assert_framed(&diary.of(partition));
        }
    });
}

/// Starts three instances, stops one; gives the lines of the diary from then on, and who had what before and after.
async fn one_of_three_leaves(site: &Site) -> (Diary, [BTreeMap<u32, u64>; 2], usize) {
    site.make_topics(3).await;
    let (diary, states) = (Diary::default(), [(); 3].map(|()| tempfile::tempdir().unwrap()));
    let mut running: Vec<Running> = (0..)
        .zip(&states)
        .map(|(instance, state)| {
            let app = diarist(site, instance, state.path(), &diary, None);
            app.start().unwrap()
        })
        .collect();
    let owners = |running: &[Running], first: u64| -> BTreeMap<u32, u64> {
        let each = (first..).zip(running);
        each.flat_map(|(instance, running)| {
            let partitions = partitions(running).into_iter();
            partitions.map(move |partition| (partition, instance))
        })
        .collect()
    };
    // A task runs a moment before its handlers do.
    let has_begun = |partition: u32, instance: u64| {
        let last = diary.of(partition).pop();
        last.is_some_and(|line| (line.instance, line.what) == (instance, What::Began))
    };
    until(site, "each has one partition", || {
        running.iter().all(|running| partitions(running).len() == 1)
            && (owners(&running, 0).iter()).all(|(partition, instance)| has_begun(*partition, *instance))
    })
    .await;
    let (before, lines) = (owners(&running, 0), diary.lines().len());
    stop(&running.remove(0), Duration::from_secs(20)).await;
    until(site, "the others have them all", || {
        owners(&running, 1).len() == 3
    })
    .await;
    // Should there be more rounds, they come with the next heartbeats.
    site.pause(Duration::from_millis(800)).await;
    until(site, "the others have them all", || {
        let owners = owners(&running, 1);
        owners.len() == 3 && (owners.iter()).all(|(partition, instance)| has_begun(*partition, *instance))
    })
    .await;
    let after = owners(&running, 1);
    let counts: Vec<_> = running.iter().map(|running| partitions(running).len()).collect();
    assert!(counts == [1, 2] || counts == [2, 1], "C07: {counts:?}");
    for running in &running {
        stop(running, Duration::from_secs(20)).await;
    }
    for partition in 0..3 {
        assert_framed(&diary.of(partition));
    }
    (diary, [before, after], lines)
}

/// What was done with a partition after the first lines of the diary, before its last end.
fn moves(diary: &Diary, partition: u32, after: usize) -> Vec<(u64, What)> {
    let lines = diary.lines().into_iter().skip(after);
    let mut moves: Vec<_> = lines
        .filter(|line| line.partition == partition)
        .map(|line| (line.instance, line.what))
        .collect();
    assert!(matches!(moves.pop(), Some((_, What::Ended))));
    moves
}

/// Scenario C16: with the `consumer` protocol a departure moves what must move, once, and nothing else is closed.
#[test]
fn c16_a_departure_leaves_alone_what_does_not_move() {
    let Some(site) = Site::shared("c16") else { return };
    block_on(async {
        let (diary, [before, after], lines) = one_of_three_leaves(&site).await;
        for partition in 0..3 {
            let (old, new) = (before[&partition], after[&partition]);
            let wanted = if old == new {
                vec![]
            } else {
                vec![(old, What::Ended), (new, What::Began)]
            };
            assert_eq!(moves(&diary, partition, lines), wanted, "partition {partition}");
        }
    });
}

/// With the classic protocol each round takes everything from everybody: all is committed, closed and opened again.
#[test]
fn c16_with_the_classic_protocol_a_departure_stops_all() {
    let Some(brokers) = CLASSIC.address() else { return };
    let site = Site::at(brokers, "c16-classic");
    block_on(async {
        let (diary, [before, after], lines) = one_of_three_leaves(&site).await;
        for partition in 0..3 {
            let moves = moves(&diary, partition, lines);
            assert_eq!(moves.first(), Some(&(before[&partition], What::Ended)));
            assert_eq!(moves.last(), Some(&(after[&partition], What::Began)));
        }
    });
}
