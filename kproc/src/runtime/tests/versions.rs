//! Versions of a program that meet: stores that are added, members that are another program.

use std::time::Duration;

use crate::{
    Clock, Context, Processor, Record, Result, Table,
    engine::{Factory, factory},
    processor::{Declare, Start, StoreOptions},
    runtime::{RunError, RunState},
    testing::exec::Executor,
};

use super::kit::*;

/// The next version of [`Count`]: it also keeps the last value of each key, in a store declared before the old one.
struct CountMore {
    latest: Table<String, i64>,
    count: Count,
}

impl Processor for CountMore {
    fn name() -> std::borrow::Cow<'static, str> {
        "count".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&COUNTS);
        to.store("latest", StoreOptions::default(), &mut self.latest);
        to.store("totals", StoreOptions::default(), &mut self.count.totals);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        self.latest.put(key, &(record.offset.get() as i64))?;
        self.count.process(ctx, record).await
    }
}

const NEW_CHANGELOG: &str = "app-count-latest-changelog";

fn next_version(world: &World) -> Factory {
    let diary = world.diary.clone();
    factory(move || CountMore {
        latest: Table::default(),
        count: Count {
            totals: Table::default(),
            instance: 2,
            diary: diary.clone(),
            clock: None,
            whim: None,
            forget_at: None,
        },
    })
}

fn upgrade(world: &mut World, slot: &str) -> Instance {
    let settings = world.settings(slot);
    let factories = vec![next_version(world)];
    world.start_app(settings, factories)
}

#[test]
fn d12_a_store_that_is_new_starts_empty_and_the_others_go_on() {
    for slot in ["a", "elsewhere"] {
        let mut world = World::counted(1);
        let instance = upgrade(&mut world, slot);
        world.write("words", 0, "k", 10);
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        assert_eq!(world.last_values("counts", 4)["k"], 11, "state in {slot}");
        assert_eq!(world.last_values(NEW_CHANGELOG, 4)["k"], 10);
    }
}

#[test]
fn d10_the_changelog_of_a_store_that_was_new_once_is_missed_later() {
    let mut world = World::counted(1);
    let instance = upgrade(&mut world, "a");
    world.write("words", 0, "k", 10);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    world.admin(async |admin| admin.delete(vec![NEW_CHANGELOG.into()]).await.map(drop));
    let instance = upgrade(&mut world, "elsewhere");
    let text = world.wait(&instance).unwrap_err().to_string();
    for part in [
        NEW_CHANGELOG,
        "was deleted",
        "`topics --create`",
        "`count`",
        "begin anew",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains(CHANGELOG), "the other one is there: {text}");
}

#[test]
fn a_member_that_is_another_version_keeps_the_new_one_from_joining() {
    let mut world = World::counted(1);
    let old = world.start("a");
    world.until("it runs", |_| old.running.status().state == RunState::Running);
    world.drain(&old);
    let begin = world.clock().now();
    let new = upgrade(&mut world, "b");
    let Err(RunError::Check(faults)) = world.wait(&new) else {
        panic!("it has started");
    };
    assert_eq!(faults.len(), 1, "{faults:#?}");
    for part in [
        "group `app`",
        "does not have the store `count/latest`",
        "stop all old instances",
        "another application id",
    ] {
        assert!(faults[0].contains(part), "{part}: {faults:#?}");
    }
    assert!(
        !faults[0].contains("totals"),
        "what is equal is not named: {faults:#?}"
    );
    assert!(
        world.since(begin) >= Duration::from_secs(1),
        "it may merely be going down"
    );
    assert_eq!(
        old.running.status().state,
        RunState::Running,
        "nothing was taken from it"
    );
    assert_eq!(world.stop(&old), Ok(()));
}

#[test]
fn a_member_of_another_version_that_goes_is_waited_for() {
    for crash in [true, false] {
        let mut world = World::counted(1);
        let old = world.start("a");
        world.until("it runs", |_| old.running.status().state == RunState::Running);
        world.drain(&old);
        let new = upgrade(&mut world, "b");
        world.write("words", 0, "k", 10);
        if crash {
            world.crash(&old);
        } else {
            assert_eq!(world.stop(&old), Ok(()));
        }
        world.drain(&new);
        assert_eq!(world.stop(&new), Ok(()));
        assert_eq!(world.last_values("counts", 4)["k"], 11);
    }
}

#[test]
fn members_that_differ_are_told_with_all_other_faults_and_at_once() {
    let mut world = World::counted(1);
    let old = world.start("a");
    world.drain(&old);
    world.create(NEW_CHANGELOG, 3, &[("cleanup.policy", "compact")]);
    let begin = world.clock().now();
    let new = upgrade(&mut world, "b");
    let text = world.wait(&new).unwrap_err().to_string();
    assert!(
        text.contains("has 3 partitions") && text.contains("another version"),
        "{text}"
    );
    assert!(
        world.since(begin) < Duration::from_secs(1),
        "waiting would mend nothing"
    );
}

/// Whatever their order of steps is, never do both go on.
#[test]
fn versions_that_start_in_the_same_moment_see_each_other_once_they_have_joined() {
    let mut both_had_joined = 0;
    for seed in 0..40 {
        let mut world = World::of_words(Executor::new(seed));
        world.create(CHANGELOG, 4, &[("cleanup.policy", "compact")]);
        world.create(NEW_CHANGELOG, 4, &[("cleanup.policy", "compact")]);
        let begin = world.clock().now();
        let (old, new) = (world.start("a"), upgrade(&mut world, "b"));
        world.until("one of them has stopped", |_| {
            [&old, &new]
                .iter()
                .any(|it| it.running.status().failure.is_some())
        });
        // Otherwise one of them has merely seen the other at its check.
        let settled = world.since(begin) < Duration::from_secs(1);
        both_had_joined += usize::from(settled);
        let mut faults = 0;
        for instance in [old, new] {
            if instance.running.status().failure.is_some() {
                let text = world.wait(&instance).unwrap_err().to_string();
                assert!(text.contains("another version"), "seed {seed}: {text}");
                faults += 1;
            } else {
                instance.running.shutdown(Duration::from_secs(5));
                let _ = world.wait(&instance);
            }
        }
        assert!(faults > 0, "seed {seed}");
    }
    assert!(both_had_joined > 10, "{both_had_joined}");
}
