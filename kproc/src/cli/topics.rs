//! Topics by their names in the program, for whoever names one on the command line.

use std::{collections::BTreeMap, sync::Arc};

use super::failure::Failure;
use crate::{
    config::{did_you_mean, nearest},
    topic::AnyTopic,
    topology::Topology,
};

/// Topics by name.
pub(crate) type Topics = BTreeMap<Arc<str>, AnyTopic>;

/// The topics that an application declares to read or to send to.
pub(crate) fn declared(topology: &Topology) -> Topics {
    let inputs = topology
        .processors
        .iter()
        .flat_map(|processor| &processor.inputs)
        .map(|input| &input.topic);
    let outputs = topology
        .processors
        .iter()
        .flat_map(|processor| &processor.outputs)
        .map(|output| &output.topic);
    inputs
        .chain(outputs)
        .map(|topic| (topic.name.clone(), topic.clone()))
        .collect()
}

/// These, and those that were sent to.
pub(crate) fn used(topology: &Topology) -> Topics {
    let mut topics = topology.bindings.sent();
    topics.extend(declared(topology));
    topics
}

/// The topic of this name.
pub(crate) fn find<'t>(topics: &'t Topics, name: &str) -> Result<&'t AnyTopic, Failure> {
    topics.get(name).ok_or_else(|| {
        let names: Vec<&str> = topics.keys().map(|name| &**name).collect();
        let near = did_you_mean(nearest(name, names.iter().copied()));
        Failure::usage(format!(
            "unknown topic `{name}`{near} (known: {})",
            names.join(", ")
        ))
    })
}
