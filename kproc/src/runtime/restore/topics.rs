//! Which topics a task's are: state of one that was deleted and made again is refused.

use std::sync::Arc;

use super::{
    super::{
        error::{BEGIN_ANEW, RunError},
        origin::{self, Found, Origin, deleted},
        slot::{Kept, Slot},
    },
    Restore,
};
use crate::{TaskId, cluster::TopicDescription};

impl Restore {
    /// Which topics the task's are, by the names that they have now.
    pub(super) async fn identify(&self, slot: &mut Slot) -> Result<Arc<Found>, RunError> {
        let topics = self.asker.of_tasks(&self.plan, &*self.clock).await?;
        let topology = &self.plan.topology;
        for &processor in &topology.groups[slot.tenure.task.group].processors {
            for (store, (_, options)) in topology.processors[processor].stores.iter().enumerate() {
                let topic = topology.changelog(processor, store);
                if options.changelog && !topics.contains_key(&topic) {
                    return Err(deleted(&topic));
                }
            }
        }
        for input in &mut slot.inputs {
            let topic = topics.get(&input.partition.topic);
            let topic = topic.ok_or_else(|| deleted(&input.partition.topic))?;
            input.origin = Some(Origin::from(topic));
        }
        Ok(topics)
    }

    /// Refuses state of topics that had the same names before.
    pub(super) fn refuse_others(&self, slot: &Slot, topics: &Found) -> Result<(), RunError> {
        let task = slot.tenure.task;
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
        Ok(())
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
