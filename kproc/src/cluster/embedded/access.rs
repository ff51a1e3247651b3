//! What is not allowed. There are no users: what is denied is denied to all.

use std::collections::BTreeSet;

use super::core::Core;
use crate::cluster::{ClusterError, ClusterErrorKind, Operation, Operations, Resource, Result};

/// All that there is, as far as the model knows it.
const ALL: [Operation; 9] = [
    Operation::Read,
    Operation::Write,
    Operation::Create,
    Operation::Delete,
    Operation::Alter,
    Operation::Describe,
    Operation::DescribeConfigs,
    Operation::AlterConfigs,
    Operation::IdempotentWrite,
];

/// What is denied.
#[derive(Default)]
pub(super) struct Denials(BTreeSet<(Resource, Operation)>);

impl Denials {
    /// Fails if that is denied.
    pub(super) fn check(&self, resource: &Resource, operation: Operation) -> Result<()> {
        if self.0.is_empty() || !self.0.contains(&(resource.clone(), operation)) {
            return Ok(());
        }
        Err(ClusterError::new(
            ClusterErrorKind::Unauthorized,
            format_args!("{operation} on {resource} is not allowed"),
        ))
    }

    /// Fails if transactions of this id are denied.
    pub(super) fn check_transactions(&self, id: &str) -> Result<()> {
        let denied = self.0.iter().find(|(resource, operation)| {
            matches!(resource, Resource::TransactionalIds(prefix) if id.starts_with(&**prefix))
                && *operation == Operation::Write
        });
        denied.map_or(Ok(()), |(resource, operation)| self.check(resource, *operation))
    }

    /// What is not denied.
    pub(super) fn allowed(&self, resource: &Resource) -> Operations {
        if self.check(resource, Operation::Describe).is_err() {
            return Operations::new();
        }
        let denied = |operation: &Operation| self.0.contains(&(resource.clone(), *operation));
        ALL.into_iter().filter(|operation| !denied(operation)).collect()
    }
}

impl Core {
    /// Denies something from now on. Who reads just now hears of it.
    pub(super) fn deny(&mut self, resource: Resource, operation: Operation) {
        if let (Resource::Topic(name), Operation::Read) = (&resource, operation)
            && let Some(topic) = self.topics.get_mut(name)
        {
            let wakers: Vec<_> = topic
                .partitions
                .iter_mut()
                .flat_map(|log| log.waiters.take())
                .collect();
            self.wake_readers(wakers);
        }
        self.denials.0.insert((resource, operation));
    }

    /// Allows it again.
    pub(super) fn allow(&mut self, resource: &Resource, operation: Operation) {
        self.denials.0.remove(&(resource.clone(), operation));
    }
}
