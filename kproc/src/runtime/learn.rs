//! What topics take is learned before the first record for them leaves, and again when one was refused.
//!
//! A record that its topic does not take is to fail in its handler, where the policy for failures can decide about it.
//! The handler cannot wait for an answer of the cluster, so the first time it succeeds; when the answer is there, the
//! task goes back to its last commit, and the handler fails when it comes to the record again.

use std::sync::Arc;

use super::{fall_back::Fault, origin::Found, seat::Fate, slot::Tenure, worker::Worker};
use crate::{
    cluster::{self, TopicDescription},
    outbox::{Limit, Limits},
};

/// What Kafka's own default is.
const DEFAULT_BYTES: usize = 1_048_588;

/// Takes note of what the cluster says of topics. Whether any of it is new.
pub(super) fn learn<'t>(limits: &Limits, topics: impl IntoIterator<Item = &'t TopicDescription>) -> bool {
    let mut new = false;
    for topic in topics {
        let bytes = topic.config.iter().find(|(name, _)| name == "max.message.bytes");
        let limit = Limit {
            bytes: match bytes {
                Some((_, bytes)) => bytes.parse().unwrap_or(DEFAULT_BYTES),
                // It may not be seen: the cluster is the judge.
                None => usize::MAX,
            },
            partitions: topic.partitions,
        };
        new |= limits.learn(&topic.name, limit);
    }
    new
}

impl Worker {
    /// Makes sure that all is known of the topics that a task has sent to. Whether its records may be handed over: else
    /// the task goes back to its last commit.
    pub(super) async fn may_produce(&mut self, tenure: Tenure) -> Result<bool, Fault> {
        let Some(task) = self.task_of(tenure) else {
            return Ok(false);
        };
        task.outbox().refresh();
        let unknown = task.outbox().unknown_topics();
        if unknown.is_empty() {
            return Ok(true);
        }
        match self.ask(unknown.clone()).await? {
            Ok(found) => {
                // One that is not there may yet be made by the cluster when it is written to.
                let topology = self.plan.topology.clone();
                learn(topology.bindings.limits(), found.values());
            }
            Err(error) => {
                // The cluster itself is the judge then.
                tracing::debug!(%error, ?unknown, "it is not known what these topics take");
                return Ok(true);
            }
        }
        self.bound_batches();
        let Some(task) = self.task_of(tenure) else {
            return Ok(false);
        };
        task.outbox().refresh();
        let misfit = task.outbox().has_misfit();
        let Some(seat) = self.seats.get_mut(&tenure) else {
            return Ok(false);
        };
        if misfit {
            tracing::debug!(task = %tenure.task, "a record was sent that its topic does not take: the task goes back to its last commit");
            seat.fate = Fate::FallsBack;
        }
        Ok(!matches!(seat.fate, Fate::FallsBack | Fate::Void))
    }

    /// Asks anew what topics take, for one has refused a record. Whether there is any news.
    pub(super) async fn learn_again(&mut self, tasks: &[Tenure]) -> bool {
        let topology = self.plan.topology.clone();
        let limits = topology.bindings.limits();
        let mut topics = limits.topics();
        for tenure in tasks {
            topics.extend(
                self.task_of(*tenure)
                    .map(|task| task.outbox().unknown_topics())
                    .unwrap_or_default(),
            );
        }
        topics.extend(topology.bindings.sent().keys().map(|name| topology.bound(name)));
        topics.sort();
        topics.dedup();
        let Ok(Ok(found)) = self.ask(topics.clone()).await else {
            return false;
        };
        let mut new = learn(limits, found.values());
        for topic in topics.iter().filter(|topic| !found.contains_key(*topic)) {
            new |= limits.learn(topic, Limit::NO_TOPIC);
        }
        new
    }

    async fn ask(&mut self, topics: Vec<Arc<str>>) -> Result<cluster::Result<Found>, Fault> {
        let answer = self.away.beside(self.asker.describe(topics), None).await;
        answer.ok_or(Fault::Interrupted)
    }

    fn task_of(&mut self, tenure: Tenure) -> Option<&mut crate::engine::Task> {
        self.seats.get_mut(&tenure)?.slot.task.as_mut()
    }

    /// Has the producer make no batch that is larger than the least that any topic takes: brokers refuse batches, and
    /// with them records that would fit.
    fn bound_batches(&mut self) {
        let smallest = self.plan.topology.bindings.limits().smallest();
        if smallest.is_none_or(|smallest| self.outlet.max_batch().is_some_and(|batch| batch <= smallest)) {
            return;
        }
        self.replace_producer();
    }
}
