//! What the cluster has of the topics that are needed, for those who are to make the rest.

use std::sync::Arc;

use super::{
    super::{error::RunError, plan::Plan},
    Faults, changelogs, create,
    facts::Facts,
    inputs,
};
use crate::{clock::Clock, cluster::Cluster};

/// See the module.
pub(crate) struct Found {
    /// All topics that are needed, by their names in the cluster, in order.
    pub(crate) topics: Vec<(Arc<str>, State)>,
    /// How those that are missing are made.
    pub(crate) commands: Vec<String>,
}

/// What is known of a topic.
pub(crate) enum State {
    /// It is there, with so many partitions.
    There(u32),
    Missing,
    /// It may be there.
    Hidden,
}

/// Looks.
pub(crate) async fn find(plan: &Plan, cluster: &dyn Cluster, clock: &dyn Clock) -> Result<Found, RunError> {
    let topology = &plan.topology;
    let needed = changelogs::needed(topology);
    let facts = Facts::ask(plan, cluster, clock, &needed).await?;
    // What is wrong with them is for the start to tell.
    let counts = inputs::check(plan, &facts, &mut Faults::default());
    // The number of partitions, if others give it; whether it is a changelog.
    let mut all: Vec<(Arc<str>, Option<u32>, bool)> = Vec::new();
    for (group, count) in topology.groups.iter().zip(&counts) {
        let inputs = group.inputs.iter();
        all.extend(inputs.map(|input| (topology.bound(&input.name), *count, false)));
    }
    all.extend(topology.outputs().map(|output| (output, None, false)));
    let changelogs = needed.iter();
    all.extend(changelogs.map(|needed| (needed.topic.clone(), counts[needed.group], true)));
    // Of an output that is also an input, the first.
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all.dedup_by(|later, first| later.0 == first.0);
    let (mut topics, mut commands) = (Vec::new(), Vec::new());
    for (name, partitions, is_changelog) in all {
        let state = match facts.topics.get(&name) {
            Some(found) => State::There(found.partitions),
            None if facts.hidden.contains(&name) => State::Hidden,
            None => {
                let config = if is_changelog {
                    changelogs::config()
                } else {
                    Vec::new()
                };
                commands.push(create::command(&name, partitions, &config));
                State::Missing
            }
        };
        topics.push((name, state));
    }
    Ok(Found { topics, commands })
}
