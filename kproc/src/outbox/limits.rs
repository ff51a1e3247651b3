//! What topics take, as far as that is known: learned by the runtime, looked at by every send.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

/// What a topic takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The largest batch, in bytes: `max.message.bytes`.
    pub(crate) bytes: usize,
    /// How many partitions it has. Zero: there is no such topic.
    pub(crate) partitions: u32,
}

impl Limit {
    /// A topic that is not there.
    pub(crate) const NO_TOPIC: Self = Self {
        bytes: usize::MAX,
        partitions: 0,
    };

    /// A topic that is kept for changelogs, to whoever else would send to it.
    pub(super) const RESERVED: Self = Self {
        bytes: 0,
        partitions: 0,
    };
}

/// What the topics of a cluster take, by their names there. Shared by all outboxes of an application.
#[derive(Default)]
pub(crate) struct Limits {
    known: Mutex<BTreeMap<Arc<str>, Limit>>,
    /// Counts changes.
    version: AtomicU32,
}

impl Limits {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Limit>> {
        // Nothing can fail under the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another number whenever something was learned.
    pub(super) fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    /// What is known of a topic.
    pub(crate) fn get(&self, topic: &str) -> Option<Limit> {
        self.lock().get(topic).copied()
    }

    /// Something was learned. Whether it is new.
    pub(crate) fn learn(&self, topic: &Arc<str>, limit: Limit) -> bool {
        let new = self.lock().insert(topic.clone(), limit) != Some(limit);
        if new {
            self.version.fetch_add(1, Ordering::Release);
        }
        new
    }

    /// All topics of which something is known.
    pub(crate) fn topics(&self) -> Vec<Arc<str>> {
        self.lock().keys().cloned().collect()
    }

    /// The least that any topic takes: no batch may be larger.
    pub(crate) fn smallest(&self) -> Option<usize> {
        let known = self.lock();
        let there = known.values().filter(|limit| **limit != Limit::NO_TOPIC);
        there.map(|limit| limit.bytes).min()
    }
}
