//! Handlers that do not come back make the instance leave; whoever only has nothing to do stays.

use std::time::Duration;

use crate::{
    Clock, Context, Offset, Partition, Processor, Record, Result, TopicPartition,
    engine::factory,
    processor::{Declare, Start},
    runtime::{RunError, RunState, Settings},
    testing::{clock::SimClock, exec::Executor},
};

use super::kit::*;

const LIMIT: Duration = Duration::from_secs(6);

/// Takes so long for each record, and for ever for one.
struct Waits {
    clock: SimClock,
    each: Duration,
    for_ever_at: Option<(Partition, Offset)>,
    diary: Diary,
    instance: u64,
}

impl Processor for Waits {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        self.clock.sleep_until(self.clock.now() + self.each).await;
        if self.for_ever_at == Some((record.partition, record.offset)) {
            std::future::pending::<()>().await;
        }
        self.diary.note(self.instance, record.partition, record.offset);
        Ok(())
    }
}

fn limited(world: &World, slot: &str) -> Settings {
    let mut settings = world.settings(slot);
    settings.stuck_after = LIMIT;
    settings
}

fn start(
    world: &mut World,
    instance: u64,
    each: Duration,
    for_ever_at: Option<(Partition, Offset)>,
) -> Instance {
    let (clock, diary) = (world.clock(), world.diary.clone());
    let settings = limited(world, &instance.to_string());
    let make = move || Waits {
        clock: clock.clone(),
        each,
        for_ever_at,
        diary: diary.clone(),
        instance,
    };
    world.start_app(settings, vec![factory(make)])
}

#[test]
fn c09_a_handler_that_waits_too_long_makes_the_instance_leave_and_others_take_over() {
    let mut world = World::new(Executor::new(1), &[("words", 2)]);
    for number in 0..20 {
        world.write("words", number % 2, "k", i64::from(number));
    }
    // Partition 1 will be the second's.
    let place = (Partition::new(0), Offset::new(3));
    let first = start(&mut world, 1, Duration::ZERO, Some(place));
    world.until("it is at that record", |world| world.diary.offsets(0).len() == 3);
    let (stuck_at, second) = (world.clock().now(), start(&mut world, 2, Duration::ZERO, None));
    let error = world.wait(&first).unwrap_err();
    // Looked at every tenth of the limit; the commit and the leaving are soon done.
    let took = world.since(stuck_at);
    assert!(took > LIMIT && took < LIMIT + Duration::from_secs(1), "{took:?}");
    let RunError::Stuck { record, blocks, .. } = &error else {
        panic!("{error}")
    };
    let at = TopicPartition::new("words", place.0);
    assert_eq!((record, *blocks), (&Some((at, place.1)), false), "{error}");
    assert_eq!(first.running.status().state, RunState::Failed);

    world.drain(&second);
    assert!(
        world.since(stuck_at) < LIMIT + Duration::from_secs(3),
        "{:?}",
        world.since(stuck_at)
    );
    assert_eq!(world.stop(&second), Ok(()));
    // What was done since the last rest could not be committed, and was done again: from one place on, in order.
    for partition in 0..2 {
        let (mut by_first, by_second): (Vec<_>, Vec<_>) = world
            .diary
            .lines()
            .into_iter()
            .filter(|line| line.1 == Partition::new(partition))
            .partition(|line| line.0 == 1);
        let again = by_second.first().map_or(10, |line| line.2.get());
        by_first.truncate(again as usize);
        let offsets = by_first.iter().chain(&by_second).map(|line| line.2.get());
        assert_eq!(offsets.collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    }
}

#[test]
fn c11_whoever_has_nothing_to_do_is_not_stuck() {
    let mut world = World::new(Executor::new(1), &[("words", 2)]);
    let idle = start(&mut world, 1, Duration::ZERO, None);
    world.executor.advance(LIMIT * 20);
    assert_eq!(idle.running.status().state, RunState::Running);
    assert_eq!(idle.running.status().failure, None);
    assert_eq!(world.stop(&idle), Ok(()));
}

#[test]
fn c11_many_records_that_take_some_time_each_are_not_stuck() {
    let mut world = World::new(Executor::new(1), &[("words", 1)]);
    for number in 0..20 {
        world.write("words", 0, "k", number);
    }
    let slow = start(&mut world, 1, LIMIT / 3 * 2, None);
    world.drain(&slow);
    assert_eq!(world.stop(&slow), Ok(()));
    assert_eq!(world.diary.offsets(0).len(), 20);
}

#[test]
fn c11_who_waits_for_a_cluster_that_is_gone_is_not_stuck() {
    let mut world = World::of_words(Executor::new(1));
    for number in 0..40 {
        world.write("words", number as u32 % 4, "k", number);
    }
    let settings = limited(&world, "a");
    let instance = world.start_with(settings, None);
    // Nothing of it is committed yet.
    world.until("one is processed", |world| !world.diary.lines().is_empty());
    instance.connection.sever();
    world.executor.advance(LIMIT * 3);
    assert_eq!(instance.running.status().failure, None);
    instance.running.shutdown(Duration::from_secs(1));
    // With a commit under way, or between two.
    let ended = world.wait(&instance);
    assert!(
        matches!(ended, Ok(()) | Err(RunError::Deadline { .. })),
        "{ended:?}"
    );
}
