//! Partitions come and go while the application runs.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{
    Clock, Context, Processor, Record, Result, Table, Timer, TimerClock, Timestamp,
    cluster::{
        ClusterErrorKind,
        embedded::{Fault, Verb},
    },
    engine::factory,
    processor::{Declare, Start, StoreOptions},
    runtime::{RunState, TaskPhase, Transactions},
    testing::exec::{Crew, Executor},
};

use super::{
    kit::*,
    transactions::script::{Act, Call, Script},
};

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

/// The group does not know a member any more that asks for committed offsets: where its task goes on, and where others do.
#[test]
fn c14_who_is_no_member_any_more_and_asks_where_to_go_on_joins_anew() {
    for seed in 0..4 {
        for question in [0, 1] {
            let executor = Executor::new(seed);
            let play = move |call: Call| match (call.verb, call.number) {
                (Verb::Committed, number) if number == question => {
                    Act::Fail(Fault::Refuse(ClusterErrorKind::OwnershipLost))
                }
                _ => Act::Go,
            };
            let script = Script::new(executor.clock().clone(), play);
            let mut world = World::with_driver(executor, script.clone(), &[("words", 1)]);
            let (diary, settings) = (world.diary.clone(), world.settings("a"));
            let instance = world.start_app(settings, vec![factory(move || FromNow(diary.clone()))]);
            world.until("it has asked", |_| script.count(Verb::Committed) > question);
            world.executor.advance(Duration::from_millis(300));
            assert!(tasks(&instance).is_empty(), "it does not know where to begin");
            instance.connection.evict();
            world.until("it has joined anew", |_| tasks(&instance).len() == 1);
            world.write("words", 0, "k", 1);
            world.drain(&instance);
            assert_eq!(world.stop(&instance), Ok(()));
            assert_eq!(world.diary.offsets(0), [0], "seed {seed}");
        }
    }
}

#[test]
fn who_is_no_member_any_more_is_asked_again_whether_all_is_processed() {
    let executor = Executor::new(1);
    // The first question is of the task.
    let play = |call: Call| match (call.verb, call.number) {
        (Verb::Committed, 1 | 3) => Act::Fail(Fault::Refuse(ClusterErrorKind::OwnershipLost)),
        _ => Act::Go,
    };
    let script = Script::new(executor.clock().clone(), play);
    let mut world = World::with_driver(executor, script, &[("words", 1), ("counts", 1)]);
    world.write("words", 0, "k", 1);
    let instance = world.start("a");
    world.until("it has a task", |_| tasks(&instance).len() == 1);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(world.last_values("counts", 1)["k"], 1);
}

/// Notes when its tasks begin and end.
struct Framed {
    instance: u64,
    notes: Notes,
}

type Notes = Arc<Mutex<Vec<(u64, u32, &'static str)>>>;

impl Framed {
    fn note(&self, ctx: &Context<'_>, what: &'static str) {
        self.notes
            .lock()
            .unwrap()
            .push((self.instance, ctx.task().partition.get(), what));
    }
}

impl Processor for Framed {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
    }

    async fn start(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.note(ctx, "start");
        Ok(())
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        Ok(())
    }

    async fn stop(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.note(ctx, "stop");
        Ok(())
    }
}

#[test]
fn c16_starts_and_stops_are_balanced_and_what_does_not_move_is_left_alone() {
    let mut world = World::new(Executor::new(3), &[("words", 3)]);
    let notes = Notes::default();
    let mut instances = Vec::new();
    for (instance, slot) in (1..).zip(["a", "b", "c"]) {
        let (notes, settings) = (notes.clone(), world.settings(slot));
        let make = move || Framed {
            instance,
            notes: notes.clone(),
        };
        instances.push(world.start_app(settings, vec![factory(make)]));
    }
    world.until("each has one", |_| {
        instances.iter().all(|instance| tasks(instance).len() == 1)
    });
    notes.lock().unwrap().clear();
    let first = instances.remove(0);
    assert_eq!(world.stop(&first), Ok(()));
    world.until("they have all", |_| {
        instances
            .iter()
            .map(|instance| tasks(instance).len())
            .sum::<usize>()
            == 3
    });
    world.executor.advance(Duration::from_secs(2));
    let moved = notes.lock().unwrap().clone();
    let starts = moved.iter().filter(|note| note.2 == "start").count();
    let stops = moved.iter().filter(|note| note.2 == "stop").count();
    assert_eq!(starts, stops, "{moved:?}");
    for instance in &instances {
        assert_eq!(world.stop(instance), Ok(()));
    }
    // Each task of each instance began and ended in turn, and at no time did two instances have the same one.
    let all = notes.lock().unwrap().clone();
    for partition in 0..3 {
        let of: Vec<_> = all.iter().filter(|note| note.1 == partition).collect();
        let last = of.last().unwrap();
        assert_eq!(last.2, "stop", "{of:?}");
        for pair in of.windows(2) {
            assert!(
                pair[0].2 != pair[1].2 && (pair[1].2 == "start" || pair[0].0 == pair[1].0),
                "{of:?}"
            );
        }
    }
}

/// Counts by the clock, whether or not there are records.
#[derive(Default)]
struct Ticks {
    ticks: Table<u8, i64>,
}

impl Processor for Ticks {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&COUNTS);
        to.store("ticks", StoreOptions::default(), &mut self.ticks);
        to.every(0, Duration::from_millis(5), TimerClock::Wall);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        Ok(())
    }

    async fn punctuate(&mut self, ctx: &mut Context<'_>, _: Timer, _: Timestamp) -> Result<()> {
        let ticks = self.ticks.get(&0)?.unwrap_or_default() + 1;
        self.ticks.put(&0, &ticks)?;
        ctx.send(&COUNTS, "tick", &ticks)?;
        Ok(())
    }
}

/// What only timers have done is committed with an offset, too, so that the group is asked whose the partition is.
#[test]
fn exactly_once_timers_of_a_process_that_stood_still_commit_nothing() {
    for seed in 0..60 {
        let mut world = World::new(Executor::new(seed), &[("words", 1), ("counts", 1)]);
        let start = |world: &mut World, slot| {
            let mut settings = world.settings(slot);
            settings.commit_interval = Duration::from_millis(10);
            let timeout = Duration::from_millis(1500);
            settings.transactions = Some(Transactions { timeout });
            world.start_app(settings, vec![factory(Ticks::default)])
        };
        let first = start(&mut world, "a");
        world.until("it has the partition", |_| !tasks(&first).is_empty());
        let second = start(&mut world, "b");
        world.executor.advance(Duration::from_millis(200));
        world.freeze(&first);
        world.executor.advance(Duration::from_millis(1200));
        world.thaw(&first);
        world.executor.advance(Duration::from_millis(300));
        assert_eq!(world.stop(&first), Ok(()), "seed {seed}");
        assert_eq!(world.stop(&second), Ok(()), "seed {seed}");
        let ticks: Vec<i64> = world.read("counts", 0).iter().filter_map(|row| row.1).collect();
        let due: Vec<i64> = (1..=ticks.len() as i64).collect();
        assert_eq!(ticks, due, "seed {seed}");
        assert!(ticks.len() > 10, "seed {seed}: {ticks:?}");
    }
}
