//! Partitions come and go while the application runs.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    Clock,
    runtime::{RunState, TaskPhase},
    testing::exec::{Crew, Executor},
};

use super::kit::*;

fn tasks(instance: &Instance) -> Vec<u32> {
    let running = |phase| matches!(phase, TaskPhase::Running { .. });
    let tasks = instance.running.status().tasks;
    tasks
        .iter()
        .filter(|task| running(task.phase))
        .map(|task| task.partition.get())
        .collect()
}

/// Writes a record into each partition every few milliseconds, so many in all.
fn feed(world: &mut World, partitions: u32, each: u64) -> Crew {
    let crew = Crew(1000);
    let (cluster, clock) = (world.cluster.clone(), world.clock());
    world.executor.spawn(crew, async move {
        for number in 0..each {
            for partition in 0..partitions {
                append(
                    &cluster,
                    "words",
                    partition,
                    &format!("p{partition}"),
                    number as i64,
                );
            }
            clock.sleep_until(clock.now() + Duration::from_millis(5)).await;
        }
    });
    crew
}

fn all_once(world: &World, partitions: u32, each: u64) {
    for partition in 0..partitions {
        assert_eq!(
            world.diary.offsets(partition),
            (0..each).collect::<Vec<_>>(),
            "partition {partition}"
        );
    }
}

#[test]
fn c13_c14_c17_ten_reassignments_keep_order_and_revoked_records_are_not_touched() {
    let mut world = World::of_words(Executor::new(5));
    let feeder = feed(&mut world, 4, 1000);
    let lasting = world.start("a");
    for _ in 0..5 {
        world.executor.advance(Duration::from_millis(400));
        let guest = world.start("b");
        world.until("the guest works", |_| tasks(&guest).len() == 2);
        world.executor.advance(Duration::from_millis(300));
        assert_eq!(world.stop(&guest), Ok(()));
    }
    world.until("all is written", |world| world.executor.alive(feeder) == 0);
    world.drain(&lasting);
    assert_eq!(world.stop(&lasting), Ok(()));
    // Exactly once and in order over all owners: commits came before the partitions were given up, and nothing
    // that was fetched was handled afterwards.
    all_once(&world, 4, 1000);
    let owners: BTreeSet<u64> = world.diary.lines().iter().map(|line| line.0).collect();
    assert_eq!(owners.len(), 6, "every guest has done some of it");
}

#[test]
fn state_is_handed_over_between_two_instances_through_the_changelog() {
    let mut world = World::of_words(Executor::new(2));
    for partition in 0..4 {
        for number in 0..10 {
            world.write("words", partition, &format!("p{partition}"), number);
        }
    }
    let first = world.start("a");
    world.drain(&first);
    let second = world.start("b");
    world.until("they share", |_| {
        tasks(&first).len() == 2 && tasks(&second).len() == 2
    });
    for partition in 0..4 {
        world.write("words", partition, &format!("p{partition}"), 10);
    }
    world.drain(&second);
    assert_eq!(world.stop(&first), Ok(()));
    world.until("the second has all", |_| tasks(&second).len() == 4);
    for partition in 0..4 {
        world.write("words", partition, &format!("p{partition}"), 11);
    }
    world.drain(&second);
    assert_eq!(world.stop(&second), Ok(()));
    let counts = world.last_values("counts", 4);
    assert_eq!(counts.len(), 4);
    assert!(counts.values().all(|count| *count == 12), "{counts:?}");
    all_once(&world, 4, 12);
}

#[test]
fn c07_c08_an_instance_without_partitions_is_healthy_and_takes_over() {
    let mut world = World::new(Executor::new(1), &[("words", 1), ("counts", 1)]);
    let instances = [world.start("a"), world.start("b"), world.start("c")];
    world.executor.advance(Duration::from_secs(2));
    let owner = instances
        .iter()
        .position(|instance| tasks(instance).len() == 1)
        .unwrap();
    for (number, instance) in instances.iter().enumerate() {
        assert_eq!(instance.running.status().state, RunState::Running);
        assert_eq!(tasks(instance).len(), usize::from(number == owner));
    }
    world.crash(&instances[owner]);
    world.write("words", 0, "k", 1);
    let others: Vec<&Instance> = instances
        .iter()
        .enumerate()
        .filter(|(number, _)| *number != owner)
        .map(|(_, it)| it)
        .collect();
    world.until("one of the others has it", |_| {
        others.iter().any(|instance| tasks(instance).len() == 1)
    });
    world.drain(others[0]);
    for instance in others {
        assert_eq!(world.stop(instance), Ok(()));
    }
    assert_eq!(world.diary.offsets(0), [0]);
}

#[test]
fn c14_a_lost_partition_is_dropped_without_a_commit_and_comes_back() {
    let mut world = World::of_words(Executor::new(4));
    let feeder = feed(&mut world, 4, 200);
    let instance = world.start("a");
    world.until("some are processed", |world| world.diary.lines().len() > 100);
    // Nothing is heard of it for longer than its session; then it is back, still believing it owns everything.
    instance.connection.sever();
    world.executor.advance(Duration::from_secs(3));
    instance.connection.mend();
    world.until("all is written", |world| world.executor.alive(feeder) == 0);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    let counts = world.last_values("counts", 4);
    assert!(
        counts.len() == 4 && counts.values().all(|count| *count >= 200),
        "{counts:?}"
    );
    for partition in 0..4 {
        let seen: BTreeSet<u64> = world.diary.offsets(partition).into_iter().collect();
        assert_eq!(seen, (0..200).collect(), "partition {partition}");
    }
}
