//! Handlers that wait hold up nobody else.

use std::time::Duration;

use crate::{
    Clock, Context, Offset, Partition, Processor, Record, Result,
    engine::factory,
    processor::{Declare, Start},
    runtime::TaskPhase,
    testing::{clock::SimClock, exec::Executor},
};

use super::kit::*;

/// Waits long at the first record of partition 1.
struct Wait {
    clock: SimClock,
    until: Duration,
    diary: Diary,
    instance: u64,
}

impl Processor for Wait {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        if (record.partition, record.offset) == (Partition::new(1), Offset::ZERO) {
            self.clock.sleep_until(self.until).await;
        }
        self.diary.note(self.instance, record.partition, record.offset);
        Ok(())
    }
}

fn start(world: &mut World, slot: &'static str, instance: u64, until: Duration) -> Instance {
    let (clock, diary, mut settings) = (world.clock(), world.diary.clone(), world.settings(slot));
    settings.threads = 1;
    let make = move || Wait {
        clock: clock.clone(),
        until,
        diary: diary.clone(),
        instance,
    };
    world.start_app(settings, vec![factory(make)])
}

fn world() -> World {
    let world = World::new(Executor::new(1), &[("words", 2)]);
    for number in 0..20 {
        world.write("words", number % 2, "k", i64::from(number));
    }
    world
}

fn committed(world: &mut World, partition: u32) -> Option<u64> {
    let offsets = world.admin(async |admin| admin.group_offsets(APP.into()).await);
    let of = offsets
        .iter()
        .find(|(place, _)| place.partition == Partition::new(partition));
    of.map(|(_, committed)| committed.next.get())
}

#[test]
fn a_worker_goes_on_and_commits_while_a_handler_waits() {
    let mut world = world();
    let instance = start(&mut world, "a", 1, Duration::from_secs(60));
    world.executor.advance(Duration::from_secs(5));
    assert_eq!(world.diary.offsets(0), (0..10).collect::<Vec<_>>());
    assert!(world.diary.offsets(1).is_empty());
    assert_eq!(
        (committed(&mut world, 0), committed(&mut world, 1)),
        (Some(10), None)
    );
    world.executor.advance(Duration::from_secs(60));
    assert_eq!(
        (committed(&mut world, 0), committed(&mut world, 1)),
        (Some(10), Some(10))
    );
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(world.diary.offsets(1), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_handler_that_waits_too_long_is_dropped_when_its_partition_is_wanted_elsewhere() {
    let mut world = world();
    let first = start(&mut world, "a", 1, Duration::from_secs(1_000_000));
    world.executor.advance(Duration::from_secs(2));
    // It gets partition 1, and does not wait.
    let second = start(&mut world, "b", 2, Duration::ZERO);
    world.executor.advance(Duration::from_secs(20));
    world.drain(&second);
    for instance in [&first, &second] {
        let tasks = instance.running.status().tasks;
        assert!(
            matches!(tasks[..], [ref task] if matches!(task.phase, TaskPhase::Running { .. })),
            "{tasks:?}"
        );
    }
    assert_eq!(world.stop(&first), Ok(()), "to give a partition up is no failure");
    assert_eq!(world.stop(&second), Ok(()));
    let by_second: Vec<_> = world
        .diary
        .lines()
        .into_iter()
        .filter(|line| line.0 == 2)
        .collect();
    assert_eq!(by_second.len(), 10);
    for partition in [0, 1] {
        assert_eq!(world.diary.offsets(partition), (0..10).collect::<Vec<_>>());
    }
}
