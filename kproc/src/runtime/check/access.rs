//! What the application may do: read and write its topics, take part in its group.
//!
//! Making changelogs is tried instead of asked for, since it can be allowed for the cluster or for names.

use std::{collections::BTreeMap, sync::Arc};

use super::{super::plan::Plan, Faults, changelogs::Needed, facts::Facts};
use crate::cluster::{Operation, Resource};

/// Tells which permissions are missing.
pub(super) fn check(plan: &Plan, facts: &Facts, needed: &[Needed], faults: &mut Faults) {
    let topology = &plan.topology;
    let mut uses: BTreeMap<Arc<str>, Vec<(Operation, &str)>> = BTreeMap::new();
    for input in topology.inputs() {
        uses.entry(input).or_default().push((Operation::Read, "an input"));
    }
    for output in topology.outputs() {
        uses.entry(output)
            .or_default()
            .push((Operation::Write, "an output"));
    }
    for changelog in needed {
        let uses = uses.entry(changelog.topic.clone()).or_default();
        uses.extend([Operation::Read, Operation::Write].map(|operation| (operation, "a changelog")));
    }
    for (topic, uses) in uses {
        let hidden = facts.hidden.contains(&topic);
        let resource = Resource::Topic(topic);
        let mut lacking: Vec<Operation> = Vec::new();
        let mut roles: Vec<&str> = Vec::new();
        for (operation, role) in uses {
            if (hidden || !facts.allows(&resource, operation)) && !lacking.contains(&operation) {
                lacking.push(operation);
            }
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        if lacking.is_empty() {
            continue;
        }
        let what = if hidden {
            // Kafka does not tell the one from the other to those who may not know.
            "does not exist, or this program may not see it".to_owned()
        } else {
            let lacking: Vec<_> = lacking.iter().map(Operation::to_string).collect();
            format!(
                "is there, and this program lacks the permission to {}",
                lacking.join(" and ")
            )
        };
        faults.add(format!(
            "{resource}, {}, {what}: `kafka-acls.sh {}`",
            roles.join(" and "),
            facts.grant(&resource, &lacking)
        ));
    }
    let group = Resource::Group(topology.app.clone());
    if !facts.allows(&group, Operation::Read) {
        faults.add(format!(
            "this program may not take part in {group}: `kafka-acls.sh {}`",
            facts.grant(&group, &[Operation::Read])
        ));
    }
}
