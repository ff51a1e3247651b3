//! Which partitions make which tasks: data only, no waiting.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    error::{BEGIN_ANEW, RunError},
    plan::Plan,
    slot::{Input, Slot, Tenure},
};
use crate::{
    TaskId,
    cluster::{Assignment, Ownership},
    engine::Carry,
    record::TopicPartition,
};

/// The inputs that cannot do with more partitions than they had at the check: state, or topics that are read with
/// them, do not have them.
pub(super) struct Fixed(BTreeMap<Arc<str>, u32>);

impl Fixed {
    /// `partitions`: how many each group has.
    pub(super) fn of(plan: &Plan, partitions: &[u32]) -> Self {
        let topology = &plan.topology;
        let mut fixed = BTreeMap::new();
        for (group, partitions) in topology.groups.iter().zip(partitions) {
            let processors = group.processors.iter();
            let mut stores = processors.flat_map(|processor| &topology.processors[*processor].stores);
            if group.inputs.len() > 1 || stores.any(|(_, options)| options.changelog) {
                let inputs = group.inputs.iter();
                fixed.extend(inputs.map(|input| (topology.bound(&input.name), *partitions)));
            }
        }
        Self(fixed)
    }

    /// An input that has grown sends equal keys to other partitions than before.
    pub(super) fn has_grown(&self, topic: &str, partitions: u32) -> Option<RunError> {
        let checked = self.0.get(topic).filter(|checked| partitions > **checked)?;
        Some(RunError::Topic {
            topic: topic.to_owned(),
            reason: format!(
                "it had {checked} partitions when the application started, and now has {partitions} or more: state and \
                 topics that are read with it do not have them, and keys now go to other partitions. Go on with a new \
                 topic of {checked} partitions, or {BEGIN_ANEW}"
            ),
        })
    }
}

/// Which partitions make which tasks. A task begins when all its partitions are here.
pub(super) struct Tasks {
    /// Topics of the cluster: group, number of the input.
    inputs: BTreeMap<Arc<str>, (usize, usize)>,
    /// How many inputs each group has.
    sizes: Vec<usize>,
    fixed: Fixed,
    gathering: BTreeMap<TaskId, BTreeMap<usize, Assignment>>,
    tenures: BTreeMap<TaskId, Tenure>,
    next: u64,
}

impl Tasks {
    /// `partitions`: how many each group has.
    pub(super) fn new(plan: &Plan, partitions: &[u32]) -> Self {
        let topology = &plan.topology;
        let mut inputs = BTreeMap::new();
        for (group, tasks) in topology.groups.iter().enumerate() {
            for (number, input) in tasks.inputs.iter().enumerate() {
                inputs.insert(topology.bound(&input.name), (group, number));
            }
        }
        let sizes = topology.groups.iter().map(|group| group.inputs.len()).collect();
        Self {
            inputs,
            sizes,
            fixed: Fixed::of(plan, partitions),
            gathering: BTreeMap::new(),
            tenures: BTreeMap::new(),
            next: 0,
        }
    }

    fn find(&self, partition: &TopicPartition) -> Option<(TaskId, usize)> {
        let (group, number) = *self.inputs.get(&partition.topic)?;
        Some((
            TaskId {
                group,
                partition: partition.partition,
            },
            number,
        ))
    }

    /// Takes partitions; gives the tasks that are complete.
    pub(super) fn assigned(&mut self, assignments: Vec<Assignment>) -> Result<Vec<Slot>, RunError> {
        let mut complete = Vec::new();
        for assignment in assignments {
            let Some((task, number)) = self.find(&assignment.partition) else {
                tracing::warn!(partition = %assignment.partition, "assigned, but nobody reads it");
                continue;
            };
            let needed = assignment.partition.partition.get().saturating_add(1);
            if let Some(error) = self.fixed.has_grown(&assignment.partition.topic, needed) {
                return Err(error);
            }
            let here = self.gathering.entry(task).or_default();
            here.insert(number, assignment);
            if here.len() < self.sizes[task.group] {
                continue;
            }
            let here = self.gathering.remove(&task).unwrap_or_default();
            self.next += 1;
            let tenure = Tenure {
                task,
                number: self.next,
            };
            self.tenures.insert(task, tenure);
            let inputs = here
                .into_values()
                .map(
                    |Assignment {
                         partition,
                         ownership,
                         queue,
                     }| Input {
                        partition,
                        ownership,
                        queue,
                        committed: None,
                        origin: None,
                    },
                )
                .collect();
            complete.push(Slot {
                tenure,
                task: None,
                kept: Vec::new(),
                inputs,
                carry: Carry::default(),
                falls: 0,
                vouch: None,
                lease: None,
            });
        }
        Ok(complete)
    }

    /// Partitions are taken from us; gives the tasks that end. Those that were not complete just forget them.
    pub(super) fn taken(&mut self, partitions: &[(TopicPartition, Ownership)]) -> Vec<Tenure> {
        let mut ended = Vec::new();
        for (partition, ownership) in partitions {
            let Some((task, number)) = self.find(partition) else {
                continue;
            };
            if let Some(here) = self.gathering.get_mut(&task)
                && here
                    .get(&number)
                    .is_some_and(|assignment| assignment.ownership == *ownership)
            {
                here.remove(&number);
            } else {
                // The partitions of one event belong together, so the task's others are in it, too.
                ended.extend(self.tenures.remove(&task));
            }
        }
        ended
    }

    pub(super) fn all(&mut self) -> Vec<Tenure> {
        self.gathering.clear();
        std::mem::take(&mut self.tenures).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use super::*;
    use crate::{
        Batch, Offset, Partition, Processor, Record, Result, Table, Topic,
        cluster::{Queue, SeekTo},
        engine::{declared, factory},
        processor::{Declare, Start, StoreOptions},
        runtime::Settings,
        topology::Topology,
    };

    const LEFT: Topic<String, i64> = Topic::new("left");
    const RIGHT: Topic<String, i64> = Topic::new("right");
    const ALONE: Topic<String, i64> = Topic::new("alone");

    #[derive(Default)]
    struct Join(Table<String, i64>);

    impl Processor for Join {
        fn declare(&mut self, to: &mut dyn Declare) {
            to.input(0, &LEFT, Start::Earliest);
            to.input(1, &RIGHT, Start::Earliest);
            to.store("table", StoreOptions::default(), &mut self.0);
        }
        async fn process(&mut self, _: &mut crate::Context<'_>, _: &Record<'_>) -> Result<()> {
            Ok(())
        }
    }

    struct Pass;

    impl Processor for Pass {
        fn declare(&mut self, to: &mut dyn Declare) {
            to.input(0, &ALONE, Start::Earliest);
        }
        async fn process(&mut self, _: &mut crate::Context<'_>, _: &Record<'_>) -> Result<()> {
            Ok(())
        }
    }

    struct Nothing;

    impl Queue for Nothing {
        fn poll_batch(&mut self, _: &mut Context<'_>, _: usize) -> Poll<crate::cluster::Result<Batch>> {
            Poll::Pending
        }
        fn seek(&mut self, _: SeekTo) {}
        fn position(&self) -> Option<Offset> {
            None
        }
        fn known_end(&self) -> Option<Offset> {
            None
        }
    }

    fn tasks() -> Tasks {
        let factories = vec![factory(Join::default), factory(|| Pass)];
        let topology = Arc::new(Topology::build("app", declared(&factories), BTreeMap::new()).unwrap());
        Tasks::new(
            &Plan {
                topology,
                factories: factories.into(),
                settings: Settings::new("unused"),
            },
            &[4, 4],
        )
    }

    fn place(topic: &str, partition: u32) -> TopicPartition {
        TopicPartition::new(topic, Partition::new(partition))
    }

    fn given(topic: &str, partition: u32, number: u64) -> Assignment {
        Assignment {
            partition: place(topic, partition),
            ownership: Ownership(number),
            queue: Box::new(Nothing),
        }
    }

    #[test]
    fn a_task_begins_when_all_its_partitions_are_here() {
        let mut tasks = tasks();
        assert!(tasks.assigned(vec![given("left", 1, 1)]).unwrap().is_empty());
        let slots = tasks
            .assigned(vec![given("right", 1, 2), given("right", 2, 3)])
            .unwrap();
        let [slot] = &slots[..] else {
            panic!("{} tasks", slots.len())
        };
        let inputs: Vec<_> = slot
            .inputs
            .iter()
            .map(|input| (&*input.partition.topic, input.ownership))
            .collect();
        assert_eq!(inputs, [("left", Ownership(1)), ("right", Ownership(2))]);
        // One that never was complete is just forgotten.
        assert_eq!(tasks.taken(&[(place("right", 2), Ownership(3))]), []);
        let both = [
            (place("left", 1), Ownership(1)),
            (place("right", 1), Ownership(2)),
        ];
        assert_eq!(tasks.taken(&both), [slot.tenure]);
    }

    #[test]
    fn c04_an_input_that_grows_stops_what_cannot_grow_with_it_and_nothing_else() {
        let mut tasks = tasks();
        let error = tasks
            .assigned(vec![given("left", 4, 1)])
            .err()
            .expect("it has no fifth partition");
        let text = error.to_string();
        assert!(
            text.contains("topic `left`: it had 4 partitions") && text.contains("now has 5"),
            "{text}"
        );
        assert_eq!(tasks.assigned(vec![given("alone", 4, 2)]).unwrap().len(), 1);
    }
}
