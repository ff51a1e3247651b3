//! The topics that are read: are they there, and do their partitions fit together?

use std::sync::Arc;

use super::{super::plan::Plan, Faults, facts::Facts};

/// How many partitions each group has; `None` where that cannot be said.
pub(super) fn check(plan: &Plan, facts: &Facts, faults: &mut Faults) -> Vec<Option<u32>> {
    let topology = &plan.topology;
    let mut counts = Vec::new();
    for (number, group) in topology.groups.iter().enumerate() {
        let mut partitions: Vec<(Arc<str>, u32)> = Vec::new();
        for input in &group.inputs {
            let topic = topology.bound(&input.name);
            match facts.topics.get(&topic) {
                Some(found) => partitions.push((topic, found.partitions)),
                // Told with the permissions.
                None if facts.hidden.contains(&topic) => {}
                None => faults.add(format!(
                    "topic `{topic}` does not exist, and is read by {}: make it (the command `topics` shows all \
                     that are needed)",
                    readers(plan, number)
                )),
            }
        }
        let first = partitions.first().map(|(_, count)| *count);
        if partitions.iter().any(|(_, count)| Some(*count) != first) {
            let counts: Vec<String> = partitions
                .iter()
                .map(|(topic, count)| format!("`{topic}` has {count}"))
                .collect();
            faults.add(format!(
                "topics that are read together must have the same number of partitions, and of those read by {} {}: \
                 equal keys would not meet. Make them anew with equal numbers",
                readers(plan, number),
                counts.join(", ")
            ));
            partitions.clear();
        }
        counts.push(partitions.first().map(|(_, count)| *count));
    }
    counts
}

/// The processors of a group.
fn readers(plan: &Plan, group: usize) -> String {
    let names = plan.topology.groups[group].processors.iter();
    let names: Vec<_> = names
        .map(|processor| format!("`{}`", plan.topology.processors[*processor].name))
        .collect();
    names.join(", ")
}
