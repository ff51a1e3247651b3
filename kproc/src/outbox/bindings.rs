//! What topics of the program are called in the cluster, which of them were sent to, and what topics take.
//!
//! An output need not be declared, so what an application sends to is known only once it has: whoever then
//! wants to show these records finds the text forms of their keys and values here.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::Limits;
use crate::topic::AnyTopic;

/// Shared by all outboxes of an application.
#[derive(Default)]
pub(crate) struct Bindings {
    /// Names in the cluster by names in the program, where they differ.
    names: BTreeMap<Arc<str>, Arc<str>>,
    /// Whose changelogs nobody else may write to.
    app: Option<Arc<str>>,
    sent: Mutex<BTreeMap<Arc<str>, AnyTopic>>,
    limits: Limits,
}

impl Bindings {
    /// Of an application: these names in the cluster, by names in the program.
    pub(crate) fn new(app: Arc<str>, names: BTreeMap<Arc<str>, Arc<str>>) -> Self {
        Self {
            names,
            app: Some(app),
            ..Self::default()
        }
    }

    /// The name in the cluster, if it is another one.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<str>> {
        self.names.get(name)
    }

    /// Whether a name in the cluster is kept for the application's changelogs, also for those of stores to come.
    pub(crate) fn is_reserved(&self, target: &str) -> bool {
        let own = self.app.as_deref().and_then(|app| target.strip_prefix(app));
        own.is_some_and(|rest| rest.starts_with('-') && rest.ends_with("-changelog"))
    }

    /// All that differ: name in the program, name in the cluster.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.names.iter()
    }

    /// The topics that were sent to, by their names in the program.
    pub(crate) fn sent(&self) -> BTreeMap<Arc<str>, AnyTopic> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What topics of the cluster take.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// An outbox has met a topic for the first time.
    pub(super) fn note(&self, topic: &AnyTopic) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.entry(topic.name.clone()).or_insert_with(|| topic.clone());
    }
}
