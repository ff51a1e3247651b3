//! What an application does that is not allowed what it needs.

use std::time::Duration;

use crate::{
    cluster::{Operation, Resource},
    runtime::{RunError, RunState, plan::Transactions},
    testing::exec::Executor,
};

use super::kit::*;

fn topic(name: &str) -> Resource {
    Resource::Topic(name.into())
}

fn faults(error: Result<(), RunError>) -> Vec<String> {
    match error {
        Err(RunError::Check(faults)) => faults,
        other => panic!("expected faults, and got {other:?}"),
    }
}

#[test]
fn h05_h08_all_that_is_not_allowed_is_told_at_once() {
    let mut world = World::of_words(Executor::new(1));
    world.create(CHANGELOG, 4, &[("cleanup.policy", "compact")]);
    world.cluster.deny(topic("words"), Operation::Read);
    world.cluster.deny(topic("counts"), Operation::Write);
    world.cluster.deny(topic(CHANGELOG), Operation::Describe);
    world.cluster.deny(Resource::Group(APP.into()), Operation::Read);
    let instance = world.start("a");
    let faults = faults(world.wait(&instance));
    assert_eq!(faults.len(), 4, "{faults:#?}");
    let expected = [
        (
            "does not exist, or this program may not see it",
            "--operation Read --operation Write --topic app-count-totals-changelog",
        ),
        ("an output", "--operation Write --topic counts"),
        ("an input", "--operation Read --topic words"),
        ("may not take part in group `app`", "--operation Read --group app"),
    ];
    for (fault, (what, grant)) in faults.iter().zip(expected) {
        assert!(
            fault.contains(what) && fault.contains(grant),
            "{what}, {grant}: {faults:#?}"
        );
    }
}

#[test]
fn h12_what_cannot_be_made_is_listed_for_those_who_can() {
    let mut world = World::of_words(Executor::new(1));
    world.cluster.deny(Resource::Cluster, Operation::Create);
    let instance = world.start("a");
    let refused = faults(world.wait(&instance));
    assert_eq!(refused.len(), 1, "{refused:#?}");
    for part in [
        "kafka-topics.sh --create --topic app-count-totals-changelog --partitions 4 --config cleanup.policy=compact",
        "--operation Create --cluster",
    ] {
        assert!(refused[0].contains(part), "{part}: {refused:#?}");
    }
    world.create_as_admin(CHANGELOG, 4, &[("cleanup.policy", "compact")]);
    let instance = world.start("a");
    world.write("words", 0, "k", 1);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
}

#[test]
fn h10_ids_of_transactions_that_are_not_allowed_are_told_with_the_rest() {
    let mut world = World::of_words(Executor::new(1));
    let ids = Resource::TransactionalIds("app-".into());
    world.cluster.deny(ids.clone(), Operation::Write);
    world.cluster.deny(topic("counts"), Operation::Write);
    let mut settings = world.settings("a");
    settings.transactions = Some(Transactions {
        timeout: Duration::from_secs(10),
    });
    let counter = world.counter(1, None);
    let instance = world.start_app(settings.clone(), vec![counter]);
    let refused = faults(world.wait(&instance));
    assert_eq!(refused.len(), 2, "{refused:#?}");
    for part in [
        "exactly once",
        "id `app-",
        "--operation Write --transactional-id app- --resource-pattern-type prefixed",
    ] {
        assert!(refused[1].contains(part), "{part}: {refused:#?}");
    }
    world.cluster.allow(&ids, Operation::Write);
    world.cluster.allow(&topic("counts"), Operation::Write);
    let instance = world.start_with(settings, None);
    world.write("words", 0, "k", 1);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_eq!(world.last_values("counts", 4)["k"], 1);
}

/// Whether the topics are those of the input, the output or the changelog.
#[test]
fn h06_h07_a_permission_that_is_withdrawn_stops_the_instance_and_nothing_is_skipped() {
    for (name, operation) in [
        ("words", Operation::Read),
        ("counts", Operation::Write),
        (CHANGELOG, Operation::Write),
    ] {
        let mut world = World::of_words(Executor::new(1));
        let instance = world.start("a");
        for number in 0..10 {
            world.write("words", 0, "k", number);
        }
        world.drain(&instance);
        world.cluster.deny(topic(name), operation);
        for number in 10..15 {
            world.write("words", 0, "k", number);
        }
        let text = world.wait(&instance).unwrap_err().to_string();
        assert_eq!(instance.running.status().state, RunState::Failed);
        assert!(
            text.contains(name) && text.contains(&operation.to_string()),
            "{text}"
        );
        world.cluster.allow(&topic(name), operation);
        let instance = world.start("a");
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        let mut processed = world.diary.offsets(0);
        processed.sort_unstable();
        processed.dedup();
        assert_eq!(processed, (0..15).collect::<Vec<_>>(), "{name}");
        // What was written before the refusal is counted again, at least once.
        let count = world.last_values("counts", 4)["k"];
        assert!(
            count == 15 || operation == Operation::Write && count > 15,
            "{name}: {count}"
        );
    }
}

#[test]
fn a_group_that_may_not_be_committed_to_any_more_stops_the_instance() {
    let mut world = World::of_words(Executor::new(1));
    let instance = world.start("a");
    world.drain(&instance);
    world.cluster.deny(Resource::Group(APP.into()), Operation::Read);
    world.write("words", 0, "k", 0);
    let text = world.wait(&instance).unwrap_err().to_string();
    assert!(text.contains("Read on group `app`"), "{text}");
}
