//! Stopping, in time, from anywhere, and without anything being processed twice afterwards.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use crate::{
    Clock, Context, Partition, Processor, Record, Result, Table,
    engine::factory,
    processor::{Declare, Start, StoreOptions},
    runtime::{RunError, RunState, Running},
    testing::{clock::SimClock, exec::Executor},
};

use super::kit::*;

/// Takes its time for each record.
struct Slow {
    clock: SimClock,
    takes: Duration,
    diary: Diary,
}

impl Processor for Slow {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        self.clock.sleep_until(self.clock.now() + self.takes).await;
        self.diary.note(0, record.partition, record.offset);
        Ok(())
    }
}

fn start_slow(world: &mut World, takes: Duration) -> Instance {
    let (clock, diary, settings) = (world.clock(), world.diary.clone(), world.settings("a"));
    let make = move || Slow {
        clock: clock.clone(),
        takes,
        diary: diary.clone(),
    };
    world.start_app(settings, vec![factory(make)])
}

#[test]
fn g10_a_stop_in_the_middle_of_a_batch_waits_for_one_record_only() {
    let mut world = World::new(Executor::new(1), &[("words", 1)]);
    for number in 0..1000 {
        world.write("words", 0, "k", number);
    }
    let instance = start_slow(&mut world, Duration::from_millis(50));
    world.until("some are processed", |world| world.diary.lines().len() == 17);
    let asked = world.clock().now();
    instance.running.shutdown(Duration::from_secs(1));
    assert_eq!(world.wait(&instance), Ok(()));
    let took = world.since(asked);
    assert!(took < Duration::from_millis(150), "it took {took:?}");

    let again = start_slow(&mut world, Duration::from_micros(10));
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    assert_eq!(
        world.diary.offsets(0),
        (0..1000).collect::<Vec<_>>(),
        "each once, in order"
    );
}

#[test]
fn promise_6_a_handler_that_never_ends_is_abandoned_at_the_deadline_and_told() {
    let mut world = World::new(Executor::new(1), &[("words", 2)]);
    world.write("words", 0, "k", 1);
    let instance = start_slow(&mut world, Duration::from_secs(1_000_000));
    world.until("the handler waits", |_| {
        instance.running.status().tasks.len() == 2
    });
    world.executor.advance(Duration::from_secs(5));
    let asked = world.clock().now();
    instance.running.shutdown(Duration::from_secs(3));
    let error = world.wait(&instance).unwrap_err();
    assert!(world.since(asked) <= Duration::from_secs(3));
    assert!(
        matches!(&error, RunError::Deadline { what, .. } if what.contains("0_0")),
        "{error}"
    );
    assert_eq!(instance.running.status().state, RunState::Failed);

    // The record was not committed: whoever comes next has it.
    let again = start_slow(&mut world, Duration::from_millis(1));
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    assert_eq!(world.diary.offsets(0), [0]);
}

/// Counts, and never gets over the end.
#[derive(Default)]
struct Clings {
    totals: Table<String, i64>,
}

impl Processor for Clings {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.store("totals", StoreOptions::default(), &mut self.totals);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        *self.totals.entry("k")?.or_default() += 1;
        Ok(())
    }

    async fn stop(&mut self, _: &mut Context<'_>) -> Result<()> {
        std::future::pending().await
    }
}

#[test]
fn promise_6_what_never_ends_on_stop_is_abandoned_at_the_deadline_and_told() {
    let mut world = World::new(Executor::new(1), &[("words", 1)]);
    world.write("words", 0, "k", 1);
    let settings = world.settings("a");
    let instance = world.start_app(settings, vec![factory(Clings::default)]);
    world.drain(&instance);
    let asked = world.clock().now();
    instance.running.shutdown(Duration::from_secs(3));
    let error = world.wait(&instance).unwrap_err();
    assert!(world.since(asked) <= Duration::from_secs(3));
    assert!(
        matches!(&error, RunError::Deadline { what, .. } if what.contains("`#[on_stop]` of task 0_0")),
        "{error}"
    );
}

#[test]
fn g06_a_stop_from_inside_a_handler_only_signals() {
    let mut world = World::of_words(Executor::new(1));
    for number in 0..50 {
        world.write("words", number as u32 % 4, "k", number);
    }
    let handle = Arc::new(OnceLock::<Running>::new());
    let whim: Whim = {
        let handle = handle.clone();
        Arc::new(move |record| {
            if record.partition == Partition::new(2) && record.offset.get() == 3 {
                handle.get().unwrap().shutdown(Duration::from_secs(10));
            }
            Ok(())
        })
    };
    let settings = world.settings("a");
    let instance = world.start_with(settings, Some(whim));
    handle.set(instance.running.clone()).unwrap();
    assert_eq!(world.wait(&instance), Ok(()));
    assert!(
        world.diary.offsets(2).ends_with(&[3]),
        "the record was finished, and no other begun"
    );

    let again = world.start("a");
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    assert_eq!(world.diary.lines().len(), 50, "nothing was processed twice");
}

#[test]
fn g08_a_hundred_stops_and_nothing_is_read_again() {
    let mut world = World::new(Executor::new(7), &[("words", 1), ("counts", 1)]);
    for run in 0..100 {
        for number in 0..10 {
            world.write("words", 0, "k", run * 10 + number);
        }
        let instance = world.start("a");
        let due = (run as usize + 1) * 10;
        world.until("ten are processed", |world| world.diary.lines().len() >= due);
        assert_eq!(world.stop(&instance), Ok(()));
    }
    assert_eq!(world.diary.offsets(0), (0..1000).collect::<Vec<_>>());
    assert_eq!(world.last_values("counts", 1)["k"], 1000);
}

/// Whether the last commit is still waited for then, or has failed.
#[test]
fn g03_with_the_cluster_gone_a_stop_keeps_its_deadline() {
    for seed in 0..10 {
        let mut world = World::of_words(Executor::new(seed));
        for number in 0..40 {
            world.write("words", number as u32 % 4, "k", number);
        }
        let instance = world.start("a");
        world.until("some are processed", |world| world.diary.lines().len() >= 20);
        instance.connection.sever();
        let asked = world.clock().now();
        instance.running.shutdown(Duration::from_secs(3));
        let result = world.wait(&instance);
        let took = world.since(asked);
        assert!(
            took <= Duration::from_millis(3100),
            "seed {seed}: it took {took:?}"
        );
        assert!(
            matches!(result, Err(RunError::Deadline { .. })),
            "seed {seed}: {result:?}"
        );
    }
}

#[test]
fn a_stop_before_anything_has_begun_is_a_stop() {
    let mut world = World::of_words(Executor::new(1));
    let instance = world.start("a");
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(instance.running.status().state, RunState::Stopped);
    let drained = world.executor.run_until(instance.running.drained()).unwrap();
    assert_eq!(drained, Err(RunError::Stopped));
}
