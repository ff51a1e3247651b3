//! What the surroundings do to an instance: aborted transactions, full disks, directories that vanish.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    Clock, Context, Error, Policy, Processor, Record, Result, Retry, Table, Timer, TimerClock, Timestamp,
    Topic,
    cluster::{Cluster, ProducerOptions},
    engine::factory,
    outbox::{Outbox, RawRecord},
    processor::{Declare, Start, StoreOptions},
    record::Partition,
    runtime::RunError,
    testing::exec::Executor,
};

use super::kit::*;

const NEWS: Topic<String, i64> = Topic::new("news");

/// Reads what is new only, and all words.
#[derive(Default)]
struct Both {
    totals: Table<String, i64>,
}

impl Processor for Both {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &NEWS, Start::Latest);
        to.input(1, &WORDS, Start::Earliest);
        to.store("totals", StoreOptions::default(), &mut self.totals);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        *self.totals.entry("k")?.or_default() += 1;
        Ok(())
    }
}

/// Somebody aborts a transaction with a word in it.
fn abort(world: &mut World) {
    let cluster = world.cluster.connect();
    let options = ProducerOptions {
        transactional_id: Some("somebody".into()),
        ..ProducerOptions::default()
    };
    world.finish(async move {
        let mut producer = cluster.producer(options).unwrap();
        producer.init().await.unwrap();
        let mut outbox = Outbox::default();
        let record = RawRecord {
            partition: Some(Partition::new(0)),
            ..RawRecord::default()
        };
        outbox.push_raw(&Arc::from("words"), &record);
        producer.send(&mut outbox).await.unwrap();
        producer.flush().await.unwrap();
        producer.abort().await.unwrap();
    });
}

#[test]
fn f14_passing_over_what_was_aborted_does_not_forget_stream_time() {
    let mut world = World::new(Executor::new(1), &[("news", 1), ("words", 1)]);
    world.write("words", 0, "k", 100);
    let settings = world.settings("a");
    let instance = world.start_app(settings, vec![factory(Both::default)]);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    let settings = world.settings("a");
    let instance = world.start_app(settings, vec![factory(Both::default)]);

    abort(&mut world);
    // Record and marker are passed over, and that is committed.
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    let offsets = world.admin(async |admin| admin.group_offsets(APP.into()).await);
    let words = offsets.iter().find(|(partition, _)| &*partition.topic == "words");
    let (_, committed) = words.unwrap();
    assert_eq!(committed.next.get(), 3, "the next record");
    assert!(
        committed.metadata.starts_with("v1 100 "),
        "stream time: {committed:?}"
    );
}

/// Counts words, and how often its timer has fired.
#[derive(Default)]
struct Ticks {
    totals: Table<String, i64>,
}

impl Processor for Ticks {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &NEWS, Start::Earliest);
        to.input(1, &WORDS, Start::Earliest);
        to.store("totals", StoreOptions::default(), &mut self.totals);
        to.every(0, Duration::from_secs(1), TimerClock::Wall);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        *self.totals.entry("k")?.or_default() += 1;
        Ok(())
    }

    async fn punctuate(&mut self, _: &mut Context<'_>, _: Timer, _: Timestamp) -> Result<()> {
        *self.totals.entry("timer")?.or_default() += 1;
        Ok(())
    }
}

/// The broker may have deleted by then what was passed over.
#[test]
fn f14_what_was_passed_over_stays_so_while_a_record_waits() {
    let mut world = World::new(Executor::new(1), &[("news", 1), ("words", 1)]);
    let mut settings = world.settings("a");
    settings.task.max_task_idle = Duration::from_secs(3600);
    let instance = world.start_app(settings, vec![factory(Ticks::default)]);
    let next = |world: &World, topic: &str| {
        let offsets = world.cluster.offsets(APP);
        let of = offsets.iter().find(|(place, _)| &*place.topic == topic);
        of.map(|(_, committed)| committed.next.get())
    };
    world.write("words", 0, "k", 100);
    world.write("news", 0, "k", 200);
    world.until("the word is committed", |world| next(world, "words") == Some(1));
    abort(&mut world);
    world.until("the rest is passed over", |world| next(world, "words") == Some(3));
    // The news is older; and then there may come more that is.
    world.write("words", 0, "k", 300);
    world.until("the news is committed", |world| next(world, "news") == Some(1));
    assert_eq!(next(&world, "words"), Some(3));
    let then = world.clock().now();
    world.until("the timer has fired", |world| {
        world.since(then) > Duration::from_secs(3)
    });
    assert_eq!(next(&world, "words"), Some(3));
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(next(&world, "words"), Some(3));
}

/// Files below `directory` that this process has open.
fn open_files(directory: &Path) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = open.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets.filter(|target| target.starts_with(directory)).count()
}

#[test]
#[cfg(target_os = "linux")]
fn g13_two_hundred_assignments_and_revocations_leave_no_file_open() {
    let mut world = World::of_words(Executor::new(11));
    for number in 0..8 {
        world.write("words", number % 4, &format!("k{number}"), 1);
    }
    let first = world.start("a");
    world.drain(&first);
    let alone = open_files(world.directory.path());
    for round in 0..100 {
        let second = world.start("b");
        world.until("the second has tasks", |_| {
            second.running.status().tasks.len() == 2
        });
        assert_eq!(world.stop(&second), Ok(()), "round {round}");
        world.until("the first has all tasks again", |_| {
            first.running.status().tasks.len() == 4
        });
        world.drain(&first);
        assert!(
            open_files(world.directory.path()) <= alone,
            "round {round}: {} open files, and {alone} in the beginning",
            open_files(world.directory.path())
        );
    }
    assert_eq!(world.stop(&first), Ok(()));
    assert_eq!(open_files(world.directory.path()), 0);
}

/// Counts are exact after `damage` stopped the instance and it was started again.
fn counts_are_exact_after(damage: impl FnOnce(&mut World) -> Instance, wanted: &[&str]) {
    let mut world = World::of_words(Executor::new(5));
    for number in 0..10_000 {
        world.write("words", number % 4, &format!("{number:0400}"), 1);
    }
    let instance = damage(&mut world);
    let error = world.wait(&instance).unwrap_err();
    assert!(matches!(error, RunError::State { .. }), "{error:?}");
    for wanted in wanted {
        assert!(
            error.to_string().contains(wanted),
            "{wanted:?} is not in: {error}"
        );
    }
    let again = world.start("a");
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    let counts = world.last_values("counts", 4);
    assert!(
        counts.len() == 10_000 && counts.values().all(|count| *count == 1),
        "{} counts, {} at most",
        counts.len(),
        counts.values().max().unwrap()
    );
}

#[test]
fn d19_a_store_that_is_full_stops_the_instance_and_loses_nothing() {
    counts_are_exact_after(
        |world| {
            let mut settings = world.settings("a");
            (settings.store.map_size, settings.store.max_map_size) = (64 << 10, 64 << 10);
            world.start_with(settings, None)
        },
        &["count"],
    );
}

#[test]
fn d27_a_directory_that_is_removed_while_it_is_used_stops_the_instance_and_loses_nothing() {
    counts_are_exact_after(
        |world| {
            let instance = world.start("a");
            world.until("some are processed", |world| world.diary.lines().len() > 100);
            std::fs::remove_dir_all(world.directory.path().join("a")).unwrap();
            instance
        },
        &["/a/app/count/"],
    );
}

#[test]
fn g10_a_stop_does_not_wait_for_a_record_that_is_to_be_tried_again() {
    let mut world = World::of_words(Executor::new(2));
    for number in 0..10 {
        world.write("words", 0, "k", number);
    }
    let mut settings = world.settings("a");
    settings.task.policies.processing = Policy::Retry(Retry {
        backoff: Duration::from_secs(3600),
        max_backoff: Duration::from_secs(3600),
        ..Retry::default()
    });
    let whim: Whim = Arc::new(|record| match record.offset.get() {
        6 => Err(Error::msg("not now")),
        _ => Ok(()),
    });
    let instance = world.start_with(settings, Some(whim));
    world.until("some are processed", |world| world.diary.lines().len() == 6);
    world.executor.advance(Duration::from_secs(5));
    let asked = world.clock().now();
    assert_eq!(world.stop(&instance), Ok(()));
    assert!(world.since(asked) < Duration::from_secs(1));

    let again = world.start("a");
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    assert_eq!(world.diary.offsets(0), (0..10).collect::<Vec<_>>());
}
