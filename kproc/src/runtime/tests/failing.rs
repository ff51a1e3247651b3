//! Handlers fail and panic, the cluster stops answering: nothing of it is silent, and nothing is lost.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use crate::{
    Clock, Error, Policy, Record, Result, Retry,
    cluster::{Operation, Resource},
    runtime::{RunError, RunState},
    testing::exec::Executor,
};

use super::kit::*;

/// A world with ten records in each of four partitions.
fn world(seed: u64) -> World {
    let world = World::of_words(Executor::new(seed));
    for number in 0..40 {
        world.write(
            "words",
            number % 4,
            &format!("p{}", number % 4),
            i64::from(number),
        );
    }
    world
}

fn is(record: &Record<'_>, partition: u32, offset: u64) -> bool {
    (record.partition.get(), record.offset.get()) == (partition, offset)
}

/// Fails at one record of partition 2.
fn fails(at: u64, how: fn() -> Result<()>) -> Whim {
    Arc::new(move |record| if is(record, 2, at) { how() } else { Ok(()) })
}

fn stops_with(how: fn() -> Result<()>, message: &str) {
    // The first record, one in the middle, and the last, behind which nothing is buffered.
    for at in [0, 6, 9] {
        stops_at(at, how, message);
    }
}

fn stops_at(at: u64, how: fn() -> Result<()>, message: &str) {
    let mut world = world(3);
    let settings = world.settings("a");
    let instance = world.start_with(settings, Some(fails(at, how)));
    let error = world.wait(&instance).unwrap_err();
    assert!(matches!(error, RunError::Task(_)), "{error:?}");
    let text = error.to_string();
    for part in ["processor `count`", "words[2]", &format!("offset {at}"), message] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let status = instance.running.status();
    assert_eq!((status.state, status.failure), (RunState::Failed, Some(error)));

    // What was done before was committed, nothing of the record is left, and the next one begins there.
    let again = world.start("a");
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    for partition in 0..4 {
        assert_eq!(
            world.diary.offsets(partition),
            (0..10).collect::<Vec<_>>(),
            "partition {partition}"
        );
    }
    let counts = world.last_values("counts", 4);
    assert!(
        counts.len() == 4 && counts.values().all(|count| *count == 10),
        "{counts:?}"
    );
}

#[test]
fn g11_a_handler_that_fails_stops_the_application_at_its_record() {
    stops_with(|| Err(Error::msg("no such word")), "no such word");
}

#[test]
fn g11_a_handler_that_panics_stops_the_application_at_its_record() {
    stops_with(|| panic!("out of words"), "out of words");
}

#[test]
fn a_record_that_is_skipped_after_a_panic_is_passed_over_and_no_other() {
    let mut world = world(5);
    let mut settings = world.settings("a");
    settings.task.policies.panic = Policy::Skip;
    let instance = world.start_with(settings, Some(fails(6, || panic!("out of words"))));
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    let counts = world.last_values("counts", 4);
    assert!(
        counts["p2"] == 9 && counts["p0"] == 10 && counts["p1"] == 10 && counts["p3"] == 10,
        "{counts:?}"
    );
    // What was done before it was committed, so nothing is done twice.
    let seen: Vec<u64> = (0..10).filter(|offset| *offset != 6).collect();
    assert_eq!(world.diary.offsets(2), seen);
}

#[test]
fn a_record_that_is_tried_again_is_done_in_the_end_and_the_others_do_not_wait() {
    let mut world = world(5);
    let failures = Arc::new(AtomicU32::new(0));
    let whim: Whim = {
        let failures = failures.clone();
        Arc::new(move |record| {
            if is(record, 2, 6) && failures.fetch_add(1, Ordering::Relaxed) < 3 {
                return Err(Error::msg("not yet"));
            }
            Ok(())
        })
    };
    let mut settings = world.settings("a");
    settings.task.policies.processing = Policy::Retry(Retry {
        backoff: Duration::from_secs(2),
        ..Retry::default()
    });
    let instance = world.start_with(settings, Some(whim));
    world.until("the others are done", |world| world.diary.lines().len() == 36);
    assert!(
        world.clock().now() < Duration::from_secs(2),
        "the others have waited"
    );
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(failures.load(Ordering::Relaxed), 4);
    let counts = world.last_values("counts", 4);
    assert!(counts.values().all(|count| *count == 10), "{counts:?}");
}

#[test]
fn a_cluster_that_does_not_answer_for_a_while_costs_nothing_but_time() {
    for seed in 0..20 {
        let mut world = world(seed);
        let mut settings = world.settings("a");
        settings.session_timeout = Duration::from_secs(600);
        let instance = world.start_with(settings, None);
        let some = 5 + (seed as usize * 3) % 30;
        world.until("some are processed", |world| world.diary.lines().len() >= some);
        instance.connection.sever();
        // Longer than a request waits for its answer: its outcome is unknown then.
        world.executor.advance(Duration::from_secs(40));
        instance.connection.mend();
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()), "seed {seed}");
        for partition in 0..4 {
            let seen: BTreeSet<u64> = world.diary.offsets(partition).into_iter().collect();
            assert_eq!(seen, (0..10).collect(), "seed {seed}, partition {partition}");
        }
        let counts = world.last_values("counts", 4);
        assert!(
            counts.len() == 4 && counts.values().all(|count| *count >= 10),
            "seed {seed}: {counts:?}"
        );
        assert_eq!(world.last_values(CHANGELOG, 4), counts, "seed {seed}");
    }
}

#[test]
fn an_output_that_the_cluster_refuses_stops_the_application_and_commits_nothing_of_the_task() {
    let mut world = World::new(Executor::new(1), &[("words", 1), ("counts", 1)]);
    let instance = world.start("a");
    world.drain(&instance);
    // No topic for the counts.
    world.admin(async |admin| admin.delete(vec!["counts".into()]).await.map(drop));
    world.write("words", 0, "k", 1);
    let error = world.wait(&instance).unwrap_err().to_string();
    assert!(
        error.contains("record words[0] offset 0") && error.contains("topic `counts`"),
        "{error}"
    );
    assert_eq!(world.diary.offsets(0), [0]);
    world.create("counts", 1, &[]);
    let again = world.start("a");
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    assert_eq!(world.diary.offsets(0), [0, 0], "it was not committed");
    assert_eq!(world.read("counts", 0), [("k".to_owned(), Some(1))]);
}

#[test]
fn a_factory_that_panics_is_told() {
    let mut world = world(1);
    let settings = world.settings("a");
    let made = AtomicU32::new(0);
    let counter = world.counter(1, None);
    let factory: crate::engine::Factory = Arc::new(move || {
        // The first is made to read its declaration.
        assert!(made.fetch_add(1, Ordering::Relaxed) == 0, "no more of these");
        counter()
    });
    let instance = world.start_app(settings, vec![factory]);
    let error = world.wait(&instance).unwrap_err();
    assert!(
        matches!(&error, RunError::Panic { message, .. } if message.contains("no more")),
        "{error}"
    );
}

/// Else the record would never be sent: done again, the input does not find what was deleted for its sake.
#[test]
fn a_deletion_is_not_kept_before_what_was_sent_for_its_sake_is_written() {
    let mut world = World::of_words(Executor::new(5));
    let (outputs, forget_at) = (Resource::Topic("counts".into()), 3);
    for number in 0..2 {
        world.write("words", 0, "k", number);
    }
    let settings = world.settings("a");
    let first = world.start_forgetful(settings.clone(), None, forget_at);
    world.drain(&first);
    world.cluster.deny(outputs.clone(), Operation::Write);
    world.write("words", 0, "k", 2);
    assert!(world.wait(&first).is_err());
    assert_eq!(world.last_values(CHANGELOG, 4)["k"], 2);

    world.cluster.allow(&outputs, Operation::Write);
    let second = world.start_forgetful(settings, None, forget_at);
    world.drain(&second);
    assert_eq!(world.stop(&second), Ok(()));
    assert_eq!(
        world
            .read("counts", 0)
            .iter()
            .map(|row| row.1)
            .collect::<Vec<_>>(),
        [1, 2, 3].map(Some)
    );
    assert!(world.last_values(CHANGELOG, 4).is_empty());
}
