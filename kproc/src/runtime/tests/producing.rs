//! Records that their topics do not take: they fail in their handlers, where the policy decides.

use std::{sync::Arc, time::Duration};

use crate::{
    Context, ErrorKind, Partition, Policy, Processor, Record, Result, SendError, Topic, TopicPartition,
    cluster::{Cluster, Isolation},
    engine::factory,
    processor::{Declare, Start},
    runtime::RunError,
    testing::exec::Executor,
};

use super::kit::*;

const OUT: Topic<String, String> = Topic::new("out");
const ELSEWHERE: Topic<String, String> = Topic::new("elsewhere");

/// What a handler sends of a record's value.
type Act = Arc<dyn Fn(&mut Context<'_>, i64) -> Result<(), SendError> + Send + Sync>;

struct Sender {
    act: Act,
    declares: bool,
    diary: Diary,
}

impl Processor for Sender {
    fn name() -> std::borrow::Cow<'static, str> {
        "sender".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        if self.declares {
            to.output(&OUT);
        }
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let value = record.value.unwrap_or_default();
        (self.act)(ctx, i64::from_be_bytes(value.try_into()?))?;
        self.diary.note(1, record.partition, record.offset);
        Ok(())
    }
}

/// What 500 bytes leave for a value, whose key has one byte.
const ROOM: i64 = 500 - 61 - 2 - 3 - 2 - 2 - 1;

/// A world whose topic `out` takes 500 bytes and has one partition; `act` gets the numbers.
fn world(numbers: &[i64]) -> World {
    let mut world = World::new(Executor::new(7), &[("words", 1)]);
    world.create("out", 1, &[("max.message.bytes", "500")]);
    for number in numbers {
        world.write("words", 0, "k", *number);
    }
    world
}

fn start(world: &mut World, policy: Policy, declares: bool, act: Act) -> Instance {
    let mut settings = world.settings("a");
    settings.task.policies.processing = policy;
    let diary = world.diary.clone();
    let sender = factory(move || Sender {
        act: act.clone(),
        declares,
        diary: diary.clone(),
    });
    world.start_app(settings, vec![sender])
}

fn send_length() -> Act {
    Arc::new(|ctx, length| ctx.send(&OUT, "k", &"x".repeat(length as usize)))
}

/// How long the values in `out` are.
fn lengths(world: &mut World) -> Vec<i64> {
    let mut reader = world.cluster.connect().reader(Isolation::ReadCommitted).unwrap();
    let place = TopicPartition::new("out", Partition::new(0));
    let mut lengths = Vec::new();
    let read = async {
        let ends = reader.watermarks(place.clone()).await.unwrap();
        let mut at = ends.earliest;
        while at < ends.latest {
            let mut read = reader.read(place.clone(), at, 100, Duration::ZERO).await.unwrap();
            while let Some(record) = read.batch.record(0, place.partition) {
                lengths.push(record.value.map_or(-1, |value| value.len() as i64));
                read.batch.advance();
            }
            at = read.next;
        }
    };
    world.executor.run_until(read).expect("it hangs");
    lengths
}

#[test]
fn b19_a_record_that_is_too_large_fails_in_its_handler_and_can_be_skipped() {
    for declares in [true, false] {
        let mut world = world(&[ROOM - 100, ROOM, ROOM + 1, 5]);
        let instance = start(&mut world, Policy::Skip, declares, send_length());
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        let mut sent = lengths(&mut world);
        // A task that learns something goes back to its last commit.
        sent.dedup();
        assert_eq!(sent, [ROOM - 100, ROOM, 5], "declared: {declares}");
        let offsets = world.admin(async |admin| admin.group_offsets(APP.into()).await);
        assert_eq!(offsets[0].1.next.get(), 4, "the skipped record is done with");
    }
}

#[test]
fn b19_a_record_that_is_too_large_stops_with_all_that_is_known_of_it() {
    for declares in [true, false] {
        let mut world = world(&[5, ROOM + 1]);
        let instance = start(&mut world, Policy::Stop, declares, send_length());
        let error = world.wait(&instance).unwrap_err();
        let RunError::Task(failure) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(
            (&*failure.processor, failure.kind),
            ("sender", ErrorKind::Processing)
        );
        assert_eq!(failure.record.as_ref().unwrap().1.get(), 1);
        let text = error.to_string();
        for part in [
            "`out`",
            "501 bytes",
            "500 at most",
            "key hash",
            "max.message.bytes",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let offsets = world.admin(async |admin| admin.group_offsets(APP.into()).await);
        assert_eq!(offsets[0].1.next.get(), 1, "b23: not past the record");
    }
}

#[test]
fn b19_a_partition_or_topic_that_is_not_there_fails_in_its_handler() {
    for (act, wanted) in [
        (
            Arc::new(|ctx: &mut Context<'_>, _: i64| {
                ctx.message(&OUT, "k", "v").partition(Partition::new(1)).send()
            }) as Act,
            "partition 1 of topic `out`",
        ),
        (
            Arc::new(|ctx: &mut Context<'_>, _: i64| ctx.send(&ELSEWHERE, "k", "v")),
            "topic `elsewhere`: the cluster has no topic",
        ),
    ] {
        let mut world = world(&[1, 2]);
        let instance = start(&mut world, Policy::Stop, false, act.clone());
        let error = world.wait(&instance).unwrap_err();
        assert!(
            matches!(error, RunError::Task(_)) && error.to_string().contains(wanted),
            "{error}"
        );

        let instance = start(&mut world, Policy::Skip, false, act);
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        assert!(lengths(&mut world).is_empty());
    }
}

#[test]
fn b20_what_the_changelog_does_not_take_is_not_stored() {
    let mut world = World::of_words(Executor::new(3));
    let config = [("cleanup.policy", "compact"), ("max.message.bytes", "300")];
    world.create(CHANGELOG, 4, &config);
    let long = "k".repeat(300);
    for (number, key) in ["short", &long, "short"].into_iter().enumerate() {
        world.write("words", 0, key, number as i64);
    }
    let instance = world.start("a");
    let error = world.wait(&instance).unwrap_err();
    let text = error.to_string();
    for part in [
        "`totals`",
        "the changelog takes",
        "max.message.bytes",
        "words[0]",
        "offset 1",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(matches!(error, RunError::Task(_)), "{error:?}");

    let mut settings = world.settings("a");
    settings.task.policies.processing = Policy::Skip;
    let instance = world.start_with(settings, None);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(world.last_values("counts", 4), [("short".to_owned(), 2)].into());
}
