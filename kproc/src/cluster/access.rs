//! What may be done with what: the words of Kafka's access control.

use std::{collections::BTreeSet, fmt, sync::Arc};

/// Something that access is given to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// A topic.
    Topic(Arc<str>),
    /// A consumer group.
    Group(Arc<str>),
    /// All transactional ids that begin so.
    TransactionalIds(Arc<str>),
    /// The cluster as a whole.
    Cluster,
}

/// What can be done with a [`Resource`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Read records, or take part in a group.
    Read,
    /// Write records.
    Write,
    /// Make topics.
    Create,
    /// Delete it.
    Delete,
    /// Change it.
    Alter,
    /// See that it is there. Whoever may read, write, delete or alter may do this, too.
    Describe,
    /// See its settings.
    DescribeConfigs,
    /// Change its settings.
    AlterConfigs,
    /// Write without repetitions. Only brokers before 2.8 ask for it.
    IdempotentWrite,
}

/// What one may do with a resource.
pub type Operations = BTreeSet<Operation>;

impl fmt::Display for Operation {
    /// Kafka's name of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(name) => write!(f, "topic `{name}`"),
            Self::Group(name) => write!(f, "group `{name}`"),
            Self::TransactionalIds(prefix) => write!(f, "transactional ids `{prefix}…`"),
            Self::Cluster => f.write_str("the cluster"),
        }
    }
}

impl Resource {
    /// The arguments of `kafka-acls.sh` that give this access.
    ///
    /// ```
    /// use kproc::cluster::{Operation, Resource};
    /// let grant = Resource::Topic("words".into()).grant(Some("User:app"), &[Operation::Read]);
    /// assert_eq!(grant, "--add --allow-principal User:app --operation Read --topic words");
    /// ```
    pub fn grant(&self, principal: Option<&str>, operations: &[Operation]) -> String {
        let principal = principal.unwrap_or("PRINCIPAL");
        let mut words = vec!["--add --allow-principal".to_owned(), principal.to_owned()];
        words.extend(
            operations
                .iter()
                .map(|operation| format!("--operation {operation}")),
        );
        words.push(match self {
            Self::Topic(name) => format!("--topic {name}"),
            Self::Group(name) => format!("--group {name}"),
            Self::TransactionalIds(prefix) => {
                format!("--transactional-id {prefix} --resource-pattern-type prefixed")
            }
            Self::Cluster => "--cluster".to_owned(),
        });
        words.join(" ")
    }
}
