//! The topics that are written to, as far as they are declared: are they there?
//!
//! They are wanted at the start even from brokers that make topics by themselves: such a topic has the broker's number
//! of partitions, which is one as a rule, and nobody has thought of it.

use std::sync::Arc;

use super::{super::plan::Plan, Faults, facts::Facts};

/// Tells which are missing.
pub(super) fn check(plan: &Plan, facts: &Facts, faults: &mut Faults) {
    if facts.makes_outputs {
        return;
    }
    let topology = &plan.topology;
    let read: Vec<Arc<str>> = topology.inputs().collect();
    let mut outputs: Vec<Arc<str>> = topology.outputs().collect();
    outputs.sort();
    outputs.dedup();
    for topic in outputs {
        if read.contains(&topic) || facts.topics.contains_key(&topic) || facts.hidden.contains(&topic) {
            continue;
        }
        let senders = topology.processors.iter().filter(|processor| {
            let mut outputs = processor.outputs.iter();
            outputs.any(|output| topology.bound(&output.topic.name) == topic)
        });
        let senders: Vec<_> = senders.map(|processor| format!("`{}`", processor.name)).collect();
        faults.add(format!(
            "topic `{topic}` does not exist, and is sent to by {}: make it (the command `topics` shows all that are \
             needed)",
            senders.join(", ")
        ));
    }
}
