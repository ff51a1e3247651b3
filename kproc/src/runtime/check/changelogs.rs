//! The topics from which state is restored: do those that are there fit, and may those that are not be made?

use std::sync::Arc;

use super::{
    super::{error::BEGIN_ANEW, plan::Plan, restore::age},
    Faults,
    facts::Facts,
};
use crate::{cluster::NewTopic, mark::Mark, topology::Topology};

/// A changelog that the application needs.
pub(super) struct Needed {
    pub(super) topic: Arc<str>,
    /// The number of its processor.
    processor: usize,
    /// The number of its group.
    pub(super) group: usize,
}

/// A changelog that is to be made.
pub(super) struct Missing<'n> {
    pub(super) needed: &'n Needed,
    pub(super) new: NewTopic,
}

/// The changelogs of all stores that have one.
pub(super) fn needed(topology: &Topology) -> Vec<Needed> {
    let mut needed = Vec::new();
    for (group, tasks) in topology.groups.iter().enumerate() {
        for &processor in &tasks.processors {
            for (store, (_, options)) in topology.processors[processor].stores.iter().enumerate() {
                if options.changelog {
                    let topic = topology.changelog(processor, store);
                    needed.push(Needed {
                        topic,
                        processor,
                        group,
                    });
                }
            }
        }
    }
    needed
}

/// How a changelog is made.
pub(super) fn new_topic(name: Arc<str>, partitions: u32) -> NewTopic {
    NewTopic {
        name,
        partitions,
        config: config(),
    }
}

/// The settings that a changelog is made with.
pub(super) fn config() -> Vec<(String, String)> {
    vec![("cleanup.policy".to_owned(), "compact".to_owned())]
}

/// Checks those that are there; says which are to be made.
pub(super) fn check<'n>(
    plan: &Plan,
    facts: &Facts,
    needed: &'n [Needed],
    counts: &[Option<u32>],
    faults: &mut Faults,
) -> Vec<Missing<'n>> {
    let mut missing = Vec::new();
    for needed in needed {
        if facts.topics.contains_key(&needed.topic) {
            existing(plan, facts, needed, counts[needed.group], faults);
        } else if facts.hidden.contains(&needed.topic) {
            // Told with the permissions.
        } else if facts.known.contains(&Mark::of(&needed.topic)) {
            // Whoever has committed with this store has had its changelog.
            faults.add(format!(
                "changelog `{}` does not exist, though the group `{}` has committed offsets with that state: it was \
                 deleted, and the state would silently be empty. To go on with empty state, make it (`topics \
                 --create`) and remove the state directories of processor `{}`; or else {BEGIN_ANEW}",
                needed.topic, plan.topology.app, plan.topology.processors[needed.processor].name
            ));
        } else if let Some(count) = counts[needed.group] {
            let new = new_topic(needed.topic.clone(), count);
            missing.push(Missing { needed, new });
        }
    }
    missing
}

/// A changelog that is there must fit.
pub(super) fn existing(plan: &Plan, facts: &Facts, needed: &Needed, count: Option<u32>, faults: &mut Faults) {
    let topology = &plan.topology;
    let Some(found) = facts.topics.get(&needed.topic) else {
        return;
    };
    if let Some(count) = count
        && found.partitions != count
    {
        let input = topology.bound(&topology.groups[needed.group].inputs[0].name);
        faults.add(format!(
            "changelog `{}` of processor `{}` has {} partitions, and its input `{input}` has {count}: they must be \
             equal. If the input was enlarged, go on with a new topic of the former number of partitions; if the \
             changelog is left over from an earlier application, {BEGIN_ANEW}",
            needed.topic, topology.processors[needed.processor].name, found.partitions
        ));
    }
    match found.config.iter().find(|(name, _)| name == "cleanup.policy") {
        Some((_, policy)) if !policy.split(',').any(|policy| policy.trim() == "compact") => {
            faults.add(format!(
                "changelog `{}` has `cleanup.policy={policy}`, with which state is lost as it grows old: set it to \
                 `compact`",
                needed.topic
            ));
        }
        Some(_) => {}
        None => tracing::warn!(
            changelog = %needed.topic,
            "its settings may not be seen (DescribeConfigs): make sure that it has `cleanup.policy=compact`, and \
             `delete.retention.ms` of a day or more, which is assumed"
        ),
    }
    let kept = age::kept(Some(found));
    if kept < age::SHORT {
        let told = format!(
            "changelog `{}` keeps deletions for {} only: a restore that takes longer would miss some, and what was deleted \
             would be there again. Set its `delete.retention.ms` to a day or more (with `{}`)",
            needed.topic,
            age::words(kept),
            age::command(&needed.topic)
        );
        if kept < age::TOO_SHORT {
            faults.add(told);
        } else {
            tracing::warn!("{told}");
        }
    }
}
