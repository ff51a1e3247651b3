//! Topics that are deleted, or deleted and made again, while an application runs or between two runs; and what the
//! state and the offsets of the old ones are worth then.

use std::time::Duration;

use crate::{
    Clock, Context, Offset, Partition, Processor, Record, Result, TopicPartition,
    cluster::{Cluster, Event, Isolation, JoinRequest, OffsetCommit},
    engine::factory,
    processor::{Declare, Start},
    runtime::{RunError, RunState},
    testing::{clock::SimClock, exec::Executor},
};

use super::kit::*;

/// A world in which ten records were counted, with state in `a`.
fn counted() -> World {
    let mut world = World::new(Executor::new(1), &[("words", 1), ("counts", 1)]);
    write(&mut world, 10);
    let instance = world.start("a");
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    world
}

fn write(world: &mut World, number: i64) {
    for number in 0..number {
        world.write("words", 0, "k", number);
    }
}

fn delete(world: &mut World, topic: &str) {
    let topic = topic.into();
    world.admin(async |admin| admin.delete(vec![topic]).await.map(drop));
}

fn make_again(world: &mut World, topic: &str, config: &[(&str, &str)]) {
    delete(world, topic);
    world.create(topic, 1, config);
}

/// What an application in `slot` stops with, that does no record of `words` meanwhile.
fn refusal(world: &mut World, slot: &str, parts: &[&str]) {
    let done = world.diary.lines().len();
    let instance = world.start(slot);
    let error = world.wait(&instance).unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(world.diary.lines().len(), done, "it went on: {error}");
    assert_eq!(instance.running.status().state, RunState::Failed);
}

#[test]
fn c21_an_input_that_was_made_again_meanwhile_is_not_taken_for_the_old_one() {
    let mut world = counted();
    make_again(&mut world, "words", &[]);
    write(&mut world, 30);
    refusal(
        &mut world,
        "a",
        &[
            "topic `words`",
            "deleted and made again",
            "words[0]",
            "--reset-offsets",
        ],
    );
    // Nor where the state comes from the changelog.
    refusal(
        &mut world,
        "elsewhere",
        &["words[0]", "no committed offset any more", "count twice"],
    );

    // Whoever sets the offset wants the new records on top of the old state.
    let place = TopicPartition::new("words", Partition::new(0));
    let offset = vec![(place, Some(Offset::ZERO))];
    world.admin(async |admin| admin.set_group_offsets(APP.into(), offset).await);
    let instance = world.start("a");
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(world.last_values("counts", 1)["k"], 40);
    let again = world.start("a");
    world.drain(&again);
    assert_eq!(world.stop(&again), Ok(()));
    assert_eq!(world.last_values("counts", 1)["k"], 40);
}

#[test]
fn c21_an_offset_of_the_old_topic_is_not_used_for_the_new_one() {
    let mut world = counted();
    let place = TopicPartition::new("words", Partition::new(0));
    let before = world.admin(async |admin| admin.group_offsets(APP.into()).await);
    assert!(before[0].1.metadata.contains(" topic:"), "{before:?}");
    make_again(&mut world, "words", &[]);
    write(&mut world, 30);
    // As by an instance that commits before it has noticed.
    let request = JoinRequest {
        group: APP.into(),
        topics: vec!["words".into()],
        session_timeout: Duration::from_secs(5),
        heartbeat_interval: None,
        revoke_timeout: Duration::from_secs(5),
        isolation: Isolation::ReadCommitted,
        read_ahead: None,
        client_id: String::new(),
    };
    let cluster = world.cluster.connect();
    let metadata = before[0].1.metadata.clone();
    world.finish(async move {
        let mut member = (*cluster).join(request).unwrap();
        let Event::Assigned(given) = member.next_event().await else {
            panic!("it is alone")
        };
        let late = OffsetCommit {
            partition: place,
            ownership: given[0].ownership,
            next: Offset::new(10),
            metadata,
        };
        member.group().commit(vec![late]).await.unwrap();
        member.leave().await.unwrap();
    });
    for slot in ["a", "elsewhere"] {
        refusal(
            &mut world,
            slot,
            &["the committed offset of words[0] is of the old topic"],
        );
    }
}

#[test]
fn c21_g01_a_topic_that_goes_or_is_made_again_stops_what_runs_on_it() {
    for (topic, again) in [
        ("words", false),
        ("words", true),
        (CHANGELOG, false),
        (CHANGELOG, true),
    ] {
        let mut world = counted();
        let instance = world.start("a");
        world.drain(&instance);
        let then = world.clock().now();
        if again {
            let compact = [("cleanup.policy", "compact")];
            make_again(&mut world, topic, if topic == CHANGELOG { &compact } else { &[] });
            write(&mut world, 30);
        } else {
            delete(&mut world, topic);
        }
        let error = world.wait(&instance).unwrap_err();
        assert!(error.to_string().contains("deleted"), "{topic} {again}: {error}");
        assert!(world.since(then) < Duration::from_secs(40));
        assert_eq!(instance.running.status().failure.as_ref(), Some(&error));
    }
}

#[test]
fn c23_offsets_that_are_lost_with_the_local_state_do_not_make_it_count_twice() {
    let mut world = counted();
    let place = TopicPartition::new("words", Partition::new(0));
    let forget = vec![(place, None)];
    world.admin(async |admin| admin.set_group_offsets(APP.into(), forget).await);
    refusal(
        &mut world,
        "elsewhere",
        &["no committed offset any more", "count twice", "--reset-offsets"],
    );
    assert!(matches!(
        {
            let instance = world.start("elsewhere");
            world.wait(&instance)
        },
        Err(RunError::Cluster { .. })
    ));
}

#[test]
fn c23_a_crash_before_the_first_commit_is_no_loss_of_offsets() {
    for seed in 0..20 {
        let mut world = World::new(Executor::new(seed), &[("words", 1), ("counts", 1)]);
        write(&mut world, 10);
        let first = world.start("a");
        world.until("something is in the changelog", |world| {
            !world.diary.lines().is_empty()
        });
        for _ in 0..seed * 3 {
            world.executor.step();
        }
        world.crash(&first);
        let second = world.start("b");
        world.drain(&second);
        assert_eq!(world.stop(&second), Ok(()), "seed {seed}");
        assert!(world.last_values("counts", 1)["k"] >= 10);
    }
}

/// Takes a second for each record.
struct Slow(SimClock, Diary);

impl Processor for Slow {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        self.0.sleep_until(self.0.now() + Duration::from_secs(1)).await;
        self.1.note(1, record.partition, record.offset);
        Ok(())
    }
}

#[test]
fn c22_an_input_that_loses_records_faster_than_they_are_processed_stops_the_application() {
    let mut world = World::new(Executor::new(4), &[("words", 1)]);
    write(&mut world, 200);
    let (clock, diary) = (world.clock(), world.diary.clone());
    let settings = world.settings("a");
    let slow = factory(move || Slow(clock.clone(), diary.clone()));
    let instance = world.start_app(settings, vec![slow]);
    world.until("it has begun", |world| world.diary.lines().len() == 3);
    let place = TopicPartition::new("words", Partition::new(0));
    let before = vec![(place, Offset::new(150))];
    world.admin(async |admin| admin.delete_records(before).await);
    let error = world.wait(&instance).unwrap_err().to_string();
    let done = world.diary.lines().len() as u64;
    let next = format!("cannot read words[0] from offset {done}");
    for part in [
        &*next,
        "first offset that it still has is 150",
        "`app`",
        "--topic words:0 --to-earliest",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(
        done < 150,
        "what was read before is done, and nothing is jumped to"
    );
    let offsets = world.admin(async |admin| admin.group_offsets(APP.into()).await);
    assert_eq!(offsets[0].1.next.get(), done);
}
