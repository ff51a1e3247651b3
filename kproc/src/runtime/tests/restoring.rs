//! State comes back from its changelog: all of it, before the first record, and no more often than needed.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use kproc_store::{DiskStep, Host};

use crate::{Clock, Offset, Partition, TopicPartition, runtime::TaskPhase, testing::exec::Executor};

use super::kit::*;

/// A world in which `records` records of each of `keys` keys were counted, with state in `a`.
fn counted(seed: u64, partitions: u32, keys: u64, records: u64) -> World {
    let mut world = World::new(
        Executor::new(seed),
        &[("words", partitions), ("counts", partitions)],
    );
    for number in 0..records {
        for key in 0..keys {
            world.write(
                "words",
                key as u32 % partitions,
                &format!("k{key}"),
                number as i64,
            );
        }
    }
    // So that records can be deleted by offset, too, which a broker refuses where there is only `compact`.
    world.create(CHANGELOG, partitions, &[("cleanup.policy", "compact,delete")]);
    let mut settings = world.settings("a");
    // Many small commits make a long changelog.
    settings.commit_interval = Duration::from_millis(3);
    let instance = world.start_with(settings, None);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    world
}

#[test]
fn state_is_whole_before_the_first_record() {
    let mut world = counted(1, 4, 40, 5);
    for key in 0..40 {
        world.write("words", key % 4, &format!("k{key}"), 5);
    }
    // Another machine: no state there. The environments are opened anew after the restore, as after a large one.
    let mut settings = world.settings("elsewhere");
    settings.reopen_after = 1;
    let instance = world.start_with(settings, None);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    let counts = world.last_values("counts", 4);
    assert_eq!(counts.len(), 40);
    assert!(counts.values().all(|count| *count == 6), "{counts:?}");
}

/// A disk that cannot sync, once.
#[derive(Debug, Default)]
struct NoSync(AtomicBool);

impl Host for NoSync {
    fn boot(&self) -> Option<String> {
        Some("one".into())
    }

    fn allow(&self, step: DiskStep) -> io::Result<()> {
        let refused = step == DiskStep::Sync && !self.0.swap(true, Relaxed);
        if refused {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }
}

/// Else nothing would ever bring it back: the next commit would go on from the end of the changelog.
#[test]
fn state_that_does_not_survive_being_opened_anew_is_restored_again() {
    let mut world = counted(1, 1, 40, 5);
    for key in 0..40 {
        world.write("words", 0, &format!("k{key}"), 5);
    }
    let mut settings = world.settings("elsewhere");
    settings.reopen_after = 1;
    let disk = Arc::<NoSync>::default();
    settings.store.host = Some(disk.clone());
    let instance = world.start_with(settings, None);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert!(disk.0.load(Relaxed));
    let counts = world.last_values("counts", 1);
    assert!(counts.values().all(|count| *count == 6), "{counts:?}");
}

#[test]
fn kept_state_is_not_restored_again() {
    let mut world = counted(1, 1, 5, 20);
    let instance = world.start("a");
    let mut seen = Vec::new();
    world.until("it runs", |_| {
        let tasks = instance.running.status().tasks;
        seen.extend(tasks.iter().map(|task| task.phase));
        matches!(tasks[..], [ref task] if matches!(task.phase, TaskPhase::Running { .. }))
    });
    let restored = |phase: &TaskPhase| matches!(phase, TaskPhase::Restoring { total, .. } if *total > 0);
    assert!(!seen.iter().any(restored), "{seen:?}");
    let restored = instance.running.status().tasks[0].restored.unwrap();
    assert_eq!((restored.replayed, restored.entries), (0, 5));
    assert_eq!(world.stop(&instance), Ok(()));
}

#[test]
fn d05_a_tail_that_was_compacted_away_does_not_hold_a_restore() {
    // The log's end stays where it was although the last records are gone from the changelog's view.
    let mut world = counted(3, 1, 3, 30);
    let place = TopicPartition::new(CHANGELOG, Partition::new(0));
    let end = world.read(CHANGELOG, 0).len() as u64;
    world.admin(async |admin| {
        admin
            .delete_records(vec![(place.clone(), Offset::new(end))])
            .await
    });
    assert_eq!(world.read(CHANGELOG, 0), [], "nothing is left but the end");
    world.write("words", 0, "new", 0);
    let instance = world.start("elsewhere");
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(world.last_values("counts", 1)["new"], 1);
}

#[test]
fn d06_an_empty_changelog_and_one_of_a_single_record_are_restored() {
    for records in [0, 1] {
        let mut world = counted(1, 1, 1, records);
        world.write("words", 0, "k0", 1);
        let instance = world.start("elsewhere");
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        assert_eq!(world.last_values("counts", 1)["k0"], records as i64 + 1);
    }
}

#[test]
fn d03_a_position_that_the_changelog_no_longer_has_rebuilds_the_store_from_what_is_left() {
    let mut world = counted(1, 1, 5, 20);
    // The state of `a` stays behind while `b` goes on, and then the changelog loses its beginning.
    for number in 0..200 {
        world.write("words", 0, &format!("k{}", number % 5), number);
    }
    let mut settings = world.settings("b");
    settings.commit_interval = Duration::from_millis(3);
    let instance = world.start_with(settings, None);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    let counts = world.last_values("counts", 1);
    let place = TopicPartition::new(CHANGELOG, Partition::new(0));
    let rows = world.read(CHANGELOG, 0);
    // What remains still has every key.
    let keep = (1..=5).map(|key| {
        let name = format!("k{}", key - 1);
        rows.iter().rposition(|(key, _)| *key == name).unwrap()
    });
    let start = keep.min().unwrap() as u64;
    world.admin(async |admin| {
        admin
            .delete_records(vec![(place.clone(), Offset::new(start))])
            .await
    });

    for key in 0..5 {
        world.write("words", 0, &format!("k{key}"), 1000);
    }
    let instance = world.start("a");
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    for (key, count) in world.last_values("counts", 1) {
        assert_eq!(count, counts[&key] + 1, "{key}");
    }
}

#[test]
fn d30_a_restore_that_was_cut_off_goes_on_where_it_was() {
    let mut world = counted(1, 1, 200, 10);
    let mut settings = world.settings("elsewhere");
    settings.restore_batch = 10;
    let progress = |instance: &Instance| match instance.running.status().tasks.first()?.phase {
        TaskPhase::Restoring { done, total } if total > 0 => Some((done, total)),
        _ => None,
    };
    let first = world.start_with(settings.clone(), None);
    world.until("half is restored", |_| {
        progress(&first).is_some_and(|(done, total)| done * 2 >= total)
    });
    let (done, all) = progress(&first).unwrap();
    world.crash(&first);
    let second = world.start_with(settings, None);
    world.until("it restores again", |_| progress(&second).is_some());
    let (_, rest) = progress(&second).unwrap();
    assert!(
        done >= 500,
        "the changelog is too short for this test: {done} of {all}"
    );
    assert_eq!(rest, all - done, "of {all}, {done} had been restored");
    world.drain(&second);
    assert_eq!(world.stop(&second), Ok(()));
}

#[test]
fn a_stop_in_the_middle_of_a_restore_does_not_wait_for_it() {
    let mut world = counted(1, 1, 200, 10);
    let mut settings = world.settings("elsewhere");
    settings.restore_batch = 1;
    let instance = world.start_with(settings, None);
    let restoring = |phase| matches!(phase, TaskPhase::Restoring { done, .. } if done > 10);
    world.until("it restores", |_| {
        instance
            .running
            .status()
            .tasks
            .iter()
            .any(|task| restoring(task.phase))
    });
    let asked = world.clock().now();
    assert_eq!(world.stop(&instance), Ok(()));
    assert!(world.since(asked) < Duration::from_millis(100));
}
