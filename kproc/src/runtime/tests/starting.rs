//! What is checked before anything is joined, and where processing begins.

use std::{borrow::Cow, time::Duration};

use crate::{
    Context, Offset, Partition, Processor, Record, Result, Table, Topic, TopicPartition,
    engine::factory,
    processor::{Declare, Start, StoreOptions},
    runtime::{Found, RunError, RunState, TopicState, Transactions, find_topics},
    testing::exec::Executor,
};

use super::kit::*;

const LEFT: Topic<String, i64> = Topic::new("left");
const RIGHT: Topic<String, i64> = Topic::new("right");

/// Reads two topics together.
struct Join;

impl Processor for Join {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &LEFT, Start::Earliest);
        to.input(1, &RIGHT, Start::Earliest);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        Ok(())
    }
}

fn faults(error: Result<(), RunError>) -> Vec<String> {
    match error {
        Err(RunError::Check(faults)) => faults,
        other => panic!("expected faults, and got {other:?}"),
    }
}

#[test]
fn whoever_makes_the_topics_is_told_what_is_missing() {
    let mut world = World::new(Executor::new(1), &[("words", 3)]);
    let plan = plan(world.settings("a"), vec![world.counter(1, None)]);
    let find = |world: &mut World| {
        let (cluster, clock) = (world.cluster.connect(), world.clock());
        world.finish(find_topics(&plan, &*cluster, &clock)).unwrap()
    };
    let found = find(&mut world);
    let missing = |found: &Found| {
        let topics = found.topics.iter();
        let missing = topics.filter(|(_, state)| matches!(state, TopicState::Missing));
        missing.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(missing(&found), [CHANGELOG, "counts"]);
    assert!(matches!(&found.topics[2], (name, TopicState::There(3)) if **name == *"words"));
    let commands = [
        "kafka-topics.sh --create --topic app-count-totals-changelog --partitions 3 --config cleanup.policy=compact",
        "kafka-topics.sh --create --topic counts --partitions N",
    ];
    assert_eq!(found.commands, commands);
    world.create("counts", 1, &[]);
    world.create(CHANGELOG, 3, &[]);
    let found = find(&mut world);
    assert!(missing(&found).is_empty() && found.commands.is_empty());
}

#[test]
fn c01_c02_c05_all_faults_are_told_at_once_and_nothing_is_joined() {
    let mut world = World::new(
        Executor::new(1),
        &[("words", 4), ("counts", 4), ("left", 8), ("right", 4)],
    );
    world.create(CHANGELOG, 3, &[("cleanup.policy", "compact")]);
    let factories = vec![world.counter(1, None), factory(|| Join)];
    let settings = world.settings("a");
    let instance = world.start_app(settings, factories);
    let error = world.wait(&instance).unwrap_err();
    let text = error.to_string();
    let faults = faults(Err(error));
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(text.starts_with("cannot start:\n  - "), "{text}");
    assert!(faults[0].contains("`left` has 8, `right` has 4"), "{faults:#?}");
    for part in [
        CHANGELOG,
        "`count`",
        "has 3 partitions",
        "input `words` has 4",
        "begin anew",
    ] {
        assert!(faults[1].contains(part), "{part}: {faults:#?}");
    }
    assert_eq!(instance.running.status().state, RunState::Failed);
}

#[test]
fn missing_topics_are_named_with_who_needs_them() {
    let mut world = World::new(Executor::new(1), &[("left", 1)]);
    let factories = vec![world.counter(1, None), factory(|| Join)];
    let settings = world.settings("a");
    let instance = world.start_app(settings, factories);
    let faults = faults(world.wait(&instance));
    assert_eq!(faults.len(), 3, "{faults:#?}");
    assert!(
        faults[0].contains("`words` does not exist") && faults[0].contains("`count`"),
        "{faults:#?}"
    );
    assert!(
        faults[1].contains("`right` does not exist") && faults[1].contains("`join`"),
        "{faults:#?}"
    );
    assert!(
        faults[2].contains("`counts` does not exist") && faults[2].contains("sent to by `count`"),
        "{faults:#?}"
    );
}

#[test]
fn c06_changelogs_are_made_with_the_count_of_the_input_and_compacted() {
    let mut world = World::new(Executor::new(1), &[("words", 5), ("counts", 1)]);
    let instance = world.start("a");
    world.until("it runs", |_| {
        instance.running.status().state == RunState::Running
    });
    let described = world.admin(async |admin| admin.describe(vec![CHANGELOG.into()]).await);
    let topic = described[0].clone().unwrap();
    assert_eq!(topic.partitions, 5);
    assert!(
        topic
            .config
            .contains(&("cleanup.policy".into(), "compact".into())),
        "{:?}",
        topic.config
    );
    assert_eq!(world.stop(&instance), Ok(()));
}

#[test]
fn a_changelog_that_would_lose_old_state_is_refused() {
    let mut world = World::of_words(Executor::new(1));
    world.create(CHANGELOG, 4, &[("cleanup.policy", "delete")]);
    let instance = world.start("a");
    let faults = faults(world.wait(&instance));
    assert!(faults[0].contains("`cleanup.policy=delete`"), "{faults:#?}");
}

#[test]
fn a_changelog_that_keeps_no_deletions_is_refused() {
    for (kept, refused) in [("0", true), ("999", true), ("1000", false)] {
        let mut world = World::of_words(Executor::new(1));
        let config = [("cleanup.policy", "compact"), ("delete.retention.ms", kept)];
        world.create(CHANGELOG, 4, &config);
        let instance = world.start("a");
        if !refused {
            world.drain(&instance);
            assert_eq!(world.stop(&instance), Ok(()));
            continue;
        }
        let faults = faults(world.wait(&instance));
        for part in [CHANGELOG, "`delete.retention.ms`", "kafka-configs.sh --alter"] {
            assert!(faults[0].contains(part), "{part}: {faults:#?}");
        }
    }
}

#[test]
fn d10_a_changelog_that_was_deleted_is_not_silently_made_again() {
    for keep_state in [true, false] {
        let mut world = World::counted(1);
        world.admin(async |admin| admin.delete(vec![CHANGELOG.into()]).await.map(drop));
        let instance = world.start(if keep_state { "a" } else { "elsewhere" });
        let faults = faults(world.wait(&instance));
        assert!(
            faults[0].contains(CHANGELOG) && faults[0].contains("does not exist"),
            "{faults:#?}"
        );
        let described = world.admin(async |admin| admin.describe(vec![CHANGELOG.into()]).await);
        assert_eq!(described, [None]);
    }
}

#[test]
fn d10_a_changelog_that_was_made_again_is_told_from_the_one_of_the_state() {
    let mut world = World::counted(1);
    world.admin(async |admin| admin.delete(vec![CHANGELOG.into()]).await.map(drop));
    world.create(CHANGELOG, 4, &[("cleanup.policy", "compact")]);
    let instance = world.start("a");
    let error = world.wait(&instance).unwrap_err();
    let text = error.to_string();
    for part in ["`totals`", "another changelog", "was deleted"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(instance.running.status().state, RunState::Failed);
}

#[test]
fn c23_offsets_that_have_expired_do_not_make_it_count_twice() {
    let mut world = World::counted(1);
    let place = TopicPartition::new("words", Partition::new(0));
    world.admin(async |admin| {
        admin
            .set_group_offsets(APP.into(), vec![(place.clone(), None)])
            .await
    });
    world.write("words", 0, "k", 10);
    let instance = world.start("a");
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(world.last_values("counts", 1)["k"], 11);
    assert_eq!(world.diary.offsets(0), (0..11).collect::<Vec<_>>());
}

/// Has a store, and writes nothing to it.
#[derive(Default)]
struct Keeps(Table<String, i64>);

impl Processor for Keeps {
    fn name() -> Cow<'static, str> {
        "keeps".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.store("kept", StoreOptions::default(), &mut self.0);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        Ok(())
    }
}

/// The states of a task's processors are written one after the other, and a crash may come between.
#[test]
fn c23_of_two_states_the_one_that_is_further_tells_where_it_was() {
    let mut went_on = false;
    for steps in 0..60 {
        let mut world = World::of_words(Executor::new(1));
        let start = |world: &mut World| {
            let mut settings = world.settings("a");
            let timeout = Duration::from_secs(60);
            settings.transactions = Some(Transactions { timeout });
            let counter = world.counter(1, None);
            world.start_app(settings, vec![counter, factory(Keeps::default)])
        };
        world.write("words", 0, "k", 0);
        let first = start(&mut world);
        world.drain(&first);
        world.write("words", 0, "k", 1);
        world.until("it is counted", |world| world.diary.lines().len() == 2);
        for _ in 0..steps {
            world.executor.step();
        }
        world.crash(&first);
        let place = TopicPartition::new("words", Partition::new(0));
        world.until("it is out of the group", |world| {
            world.cluster.owner(APP, &place).is_none()
        });
        let forget = vec![(place, None)];
        world.admin(async |admin| admin.set_group_offsets(APP.into(), forget).await);
        let second = start(&mut world);
        // If neither of them has the commit, nothing tells where it was, and the instance ends.
        if world.finish(second.running.drained()).is_ok() {
            assert_eq!(world.stop(&second), Ok(()));
            assert_eq!(world.last_values("counts", 4)["k"], 2, "{steps}");
            let again = world.diary.lines().len() > 2;
            went_on |= !again;
        }
    }
    assert!(went_on);
}

#[test]
fn c22_d07_an_offset_that_the_log_no_longer_has_is_an_error_and_no_jump() {
    let mut world = World::counted(1);
    for number in 10..30 {
        world.write("words", 0, "k", number);
    }
    let place = TopicPartition::new("words", Partition::new(0));
    world.admin(async |admin| admin.delete_records(vec![(place.clone(), Offset::new(20))]).await);
    let instance = world.start("a");
    let text = world.wait(&instance).unwrap_err().to_string();
    for part in ["words[0]", "offset 10", "20", "set the group's offset"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(world.diary.offsets(0).len(), 10, "nothing was jumped to");
}

#[test]
fn an_offset_that_was_set_beyond_the_end_is_told_as_such() {
    let mut world = World::counted(1);
    let place = TopicPartition::new("words", Partition::new(0));
    let set = vec![(place, Some(Offset::new(50)))];
    world.admin(async |admin| admin.set_group_offsets(APP.to_owned(), set.clone()).await);
    let instance = world.start("a");
    let text = world.wait(&instance).unwrap_err().to_string();
    for part in ["words[0]", "offset 50", "ends at offset 10", "--to-latest"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn latest_means_the_first_join_and_not_every_start() {
    let mut world = World::new(Executor::new(1), &[("words", 1)]);
    for number in 0..5 {
        world.write("words", 0, "before", number);
    }
    let diary = world.diary.clone();
    let start = |world: &mut World| {
        let (diary, settings) = (diary.clone(), world.settings("a"));
        world.start_app(settings, vec![factory(move || FromNow(diary.clone()))])
    };
    let first = start(&mut world);
    world.drain(&first);
    assert_eq!(world.stop(&first), Ok(()));
    for number in 5..8 {
        world.write("words", 0, "between", number);
    }
    let second = start(&mut world);
    world.drain(&second);
    assert_eq!(world.stop(&second), Ok(()));
    assert_eq!(diary.offsets(0), [5, 6, 7]);
}
