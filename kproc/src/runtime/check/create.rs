//! Changelogs are made, with as many partitions as their inputs have.

use std::sync::Arc;

use super::{
    super::{error::RunError, plan::Plan},
    Faults,
    changelogs::{self, Missing},
    facts::Facts,
};
use crate::{
    clock::Clock,
    cluster::{ClusterErrorKind, NewTopic, Operation, Resource, Result as Answer},
};

/// Tells which could not be made.
pub(super) async fn check(
    plan: &Plan,
    facts: &mut Facts,
    clock: &dyn Clock,
    missing: &[Missing<'_>],
    faults: &mut Faults,
) -> Result<(), RunError> {
    let topics = topics(missing);
    if topics.is_empty() {
        return Ok(());
    }
    let outcomes = facts
        .put(plan, clock, async |admin| admin.try_create(topics.clone()).await)
        .await
        .map_err(|error| RunError::cluster("cannot ask whether changelogs can be made", &error))?;
    refused(facts, &topics, outcomes, faults);
    Ok(())
}

/// Makes the changelogs. Another instance may be doing the same.
pub(super) async fn create(
    plan: &Plan,
    facts: &mut Facts,
    clock: &dyn Clock,
    missing: &[Missing<'_>],
) -> Result<(), RunError> {
    let topics = topics(missing);
    if topics.is_empty() {
        return Ok(());
    }
    let made = facts
        .put(plan, clock, async |admin| {
            let results = admin.create(topics.clone()).await?;
            // One that may succeed later makes the call one that may.
            let mut errors = results.iter().filter_map(|result| result.as_ref().err());
            match errors.find(|error| error.kind == ClusterErrorKind::Retriable) {
                Some(error) => Err(error.clone()),
                None => Ok(results),
            }
        })
        .await
        .map_err(|error| RunError::cluster("cannot make changelogs", &error))?;
    let mut faults = Faults::default();
    refused(facts, &topics, made, &mut faults);
    faults.none()?;
    // Made by another instance meanwhile: perhaps for other inputs.
    let names: Vec<Arc<str>> = topics.into_iter().map(|topic| topic.name).collect();
    facts.describe(plan, clock, &names).await?;
    let mut faults = Faults::default();
    for Missing { needed, new } in missing {
        changelogs::existing(plan, facts, needed, Some(new.partitions), &mut faults);
    }
    faults.none()
}

fn topics(missing: &[Missing<'_>]) -> Vec<NewTopic> {
    missing.iter().map(|missing| missing.new.clone()).collect()
}

/// Those that were not made: for lack of permission, all of them in one fault, as an administrator needs it.
fn refused(facts: &Facts, topics: &[NewTopic], outcomes: Vec<Answer<()>>, faults: &mut Faults) {
    let mut forbidden = Vec::new();
    for (topic, outcome) in topics.iter().zip(outcomes) {
        match outcome {
            Err(error) if error.kind == ClusterErrorKind::TopicExists => {}
            Ok(()) => {}
            Err(error) if error.kind == ClusterErrorKind::Unauthorized => {
                forbidden.push(command(&topic.name, Some(topic.partitions), &topic.config));
            }
            Err(error) => faults.add(format!("changelog `{}` cannot be made: {error}", topic.name)),
        }
    }
    if !forbidden.is_empty() {
        faults.add(format!(
            "changelogs are missing, and may not be made by this program. Either let an administrator make them (the \
             command `topics --create` does that, too):\n      {}\n    or allow it with `kafka-acls.sh {}`",
            forbidden.join("\n      "),
            facts.grant(&Resource::Cluster, &[Operation::Create])
        ));
    }
}

/// How `kafka-topics.sh` makes a topic. Without a number of partitions, that is left to whoever does it.
pub(super) fn command(topic: &str, partitions: Option<u32>, config: &[(String, String)]) -> String {
    let partitions = partitions.map_or_else(|| "N".to_owned(), |partitions| partitions.to_string());
    let settings: Vec<_> = config
        .iter()
        .map(|(name, value)| format!(" --config {name}={value}"))
        .collect();
    format!(
        "kafka-topics.sh --create --topic {topic} --partitions {partitions}{}",
        settings.concat()
    )
}
