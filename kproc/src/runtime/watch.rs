//! Looks, while the application runs, whether its topics still are what they were at the check.
//!
//! A topic that was deleted, or deleted and made again, stops the application; so does an input that has grown, if the
//! application cannot grow with it. Rebalances tell of most of this, too, but not always, not soon, and not in words that
//! help. What topics take is asked for anew as well.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::Notify;

use super::{
    error::RunError,
    gather::Fixed,
    learn::learn,
    origin::{Asker, Found, deleted, made_again},
    plan::Plan,
};
use crate::clock::Clock;

/// A topic that one broker does not know must be unknown for so long.
const SURE: Duration = Duration::from_secs(1);

/// What it takes to look.
pub(super) struct Watch {
    pub(super) plan: Arc<Plan>,
    pub(super) asker: Arc<Asker>,
    pub(super) clock: Arc<dyn Clock>,
    /// How many partitions the topics of each group had at the check.
    pub(super) partitions: Vec<u32>,
    /// Something has happened that is worth a look.
    pub(super) look: Arc<Notify>,
}

impl Watch {
    /// Looks now and then, until something is wrong.
    pub(super) async fn run(self) -> RunError {
        let topics = self.topics();
        let fixed = Fixed::of(&self.plan, &self.partitions);
        let mut known = BTreeMap::new();
        loop {
            // A cluster that does not answer is somebody else's trouble.
            if let Some(error) = self.look(&topics, &fixed, &mut known).await {
                return error;
            }
            let next = self.clock.now() + self.plan.settings.topic_check;
            tokio::select! { biased;
                () = self.look.notified() => {}
                () = self.clock.sleep_until(next) => {}
            }
        }
    }

    /// Inputs and changelogs.
    fn topics(&self) -> Vec<Arc<str>> {
        let topology = &self.plan.topology;
        let mut topics: Vec<Arc<str>> = topology.inputs().chain(topology.changelogs()).collect();
        topics.sort();
        topics.dedup();
        topics
    }

    async fn look(
        &self,
        topics: &[Arc<str>],
        fixed: &Fixed,
        known: &mut BTreeMap<Arc<str>, uuid::Uuid>,
    ) -> Option<RunError> {
        let mut found = self.ask(topics).await?;
        if topics.iter().any(|topic| !found.contains_key(topic)) {
            self.clock.sleep_until(self.clock.now() + SURE).await;
            found = self.ask(topics).await?;
        }
        for topic in topics {
            let Some(now) = found.get(topic) else {
                return Some(deleted(topic));
            };
            let before = *known.entry(topic.clone()).or_insert(now.id);
            if before != now.id {
                return Some(made_again(topic));
            }
            if let Some(error) = fixed.has_grown(topic, now.partitions) {
                return Some(error);
            }
        }
        self.learn().await;
        None
    }

    async fn ask(&self, topics: &[Arc<str>]) -> Option<Found> {
        let asked = self.asker.identify(topics.to_vec()).await;
        asked
            .inspect_err(|error| tracing::debug!(%error, "it is not known whether the topics have changed"))
            .ok()
    }

    /// What topics take may have changed, or be known now.
    async fn learn(&self) {
        let limits = self.plan.topology.bindings.limits();
        if let Ok(found) = self.asker.describe(limits.topics()).await {
            learn(limits, found.values());
        }
    }
}
