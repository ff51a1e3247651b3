//! Which topics a task's are: state of one that was deleted and made again is refused.

use std::time::Duration;

use super::{
    super::{
        error::{BEGIN_ANEW, RunError},
        origin::{self, Found, Origin},
        slot::{Kept, Slot},
    },
    Restore,
};
use crate::{TaskId, cluster::TopicDescription};

impl Restore {
    /// Finds out which topics the task's are, and refuses state of older ones.
    pub(super) async fn identify(&self, slot: &mut Slot) -> Result<Found, RunError> {
        let task = slot.tenure.task;
        let changelogs = slot.kept.iter().flat_map(|kept| &kept.changelogs);
        let changelogs = changelogs.map(|changelog| changelog.partition.topic.clone());
        let inputs = slot.inputs.iter().map(|input| input.partition.topic.clone());
        let topics = self
            .asker
            .all(inputs.chain(changelogs).collect(), &self.plan, &*self.clock)
            .await?;
        for input in &mut slot.inputs {
            input.origin = topics.get(&input.partition.topic).map(Origin::from);
        }
        for kept in &slot.kept {
            let failed = |reason: String| self.state(task, kept.processor, reason);
            for changelog in &kept.changelogs {
                let Some(topic) = topics.get(&changelog.partition.topic) else {
                    continue;
                };
                let other = origin::is_of_another(&kept.environment, topic);
                if other.map_err(|error| failed(error.to_string()))? {
                    let store = &self.plan.topology.processors[kept.processor].stores[changelog.store]
                        .0
                        .name;
                    return Err(failed(format!(
                        "store `{store}` is of another changelog than {}, which was deleted and made again. To go on with \
                         what the new one has, remove {}; or else {BEGIN_ANEW}",
                        changelog.partition,
                        self.directory(kept.processor, task).display()
                    )));
                }
            }
        }
        Ok(topics)
    }

    /// For how long the task's changelogs keep deletions: the least of them, and what the settings say of those of which it
    /// is not known.
    pub(super) fn retention(&self, slot: &Slot, topics: &Found) -> Duration {
        let changelogs = slot.kept.iter().flat_map(|kept| &kept.changelogs);
        let found = changelogs.filter_map(|changelog| {
            let topic = topics.get(&changelog.partition.topic)?;
            let (_, millis) = topic
                .config
                .iter()
                .find(|(name, _)| name == "delete.retention.ms")?;
            millis.parse().ok().map(Duration::from_millis)
        });
        let usual = self.plan.settings.store.tombstone_retention;
        found.min().unwrap_or(usual).min(usual)
    }

    /// Whether the state in any of these environments is of another topic.
    pub(super) fn is_of_another(
        &self,
        kept: &[Kept],
        task: TaskId,
        topic: Option<&TopicDescription>,
    ) -> Result<bool, RunError> {
        for kept in kept {
            let other = topic.map(|topic| origin::is_of_another(&kept.environment, topic));
            let other = other.transpose();
            if other.map_err(|error| self.state(task, kept.processor, error.to_string()))? == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
