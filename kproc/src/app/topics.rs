//! The topics of an application, by their names in the program.

use std::{collections::BTreeMap, sync::Arc};

use crate::{topic::AnyTopic, topology::Topology};

/// Topics by name.
pub(crate) type Topics = BTreeMap<Arc<str>, AnyTopic>;

impl Topology {
    /// The topics that the application declares to read or to send to, by name.
    pub(crate) fn declared_topics(&self) -> Topics {
        let inputs = self
            .processors
            .iter()
            .flat_map(|processor| &processor.inputs)
            .map(|input| &input.topic);
        let outputs = self
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
    pub(crate) fn used_topics(&self) -> Topics {
        let mut topics = self.bindings.sent();
        topics.extend(self.declared_topics());
        topics
    }
}
