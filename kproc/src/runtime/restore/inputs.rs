//! Where the processing of a task's inputs goes on, and what is refused because nothing tells where.

use kproc_store::CommitPoint;

use super::{
    super::{
        committed,
        error::{BEGIN_ANEW, RunError},
        origin::{Found, of_the_old_one},
        patience::retried,
        sabotage::Sabotage,
        slot::{Changelog, Input, Slot},
    },
    Restore,
};
use crate::{
    TaskId,
    cluster::{ClusterErrorKind, CommittedOffset, Isolation, OffsetCommit, SeekTo, Watermarks},
    processor::Start,
    record::{Offset, Partition, TopicPartition},
};

/// Whether the task's partitions are still ours, as far as was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Whose {
    Ours,
    /// They are not: the order that says so is under way. Where the task begins is not known or not committed, so it must not begin:
    /// what it would leave in a changelog, be it an aborted record, would be taken for state whose offset is lost.
    Lost,
}

impl Restore {
    /// Sets the inputs to where their processing goes on. `moved`: the changelogs had something that the
    /// environments did not have.
    pub(super) async fn seek(&self, slot: &mut Slot, topics: &Found, moved: bool) -> Result<Whose, RunError> {
        let saved = self.saved(slot)?;
        let task = slot.tenure.task;
        let app = &*self.plan.topology.app;
        let mut first = Vec::new();
        // Whether processing has begun at some time, as far as offsets tell.
        let begun =
            slot.inputs.iter().any(|input| input.committed.is_some()) || saved.iter().any(Option::is_some);
        let (stateful, restored) = restored(slot);
        for (number, (input, saved)) in slot.inputs.iter_mut().zip(saved).enumerate() {
            if let Some(committed) = &input.committed {
                refuse_newer(app, &input.partition, committed, "committed offset")?;
                if let (Some(then), Some(now)) = (committed::origin(&committed.metadata), input.origin) {
                    if !then.is_same(now) {
                        return Err(of_the_old_one(&input.partition, "the committed offset"));
                    }
                    // It goes on telling how many partitions there were when the group began with it.
                    input.origin = Some(then);
                }
                if slot.falls == 0 || !self.plan.has(Sabotage::NoRewind) {
                    input.queue.seek(SeekTo::At(committed.next));
                }
                continue;
            }
            // Nothing was committed, or it is no longer known. The state may know better.
            if let Some(saved) = saved {
                if self.is_of_another(&slot.kept, task, topics.get(&input.partition.topic))? {
                    return Err(of_the_old_one(&input.partition, "the state"));
                }
                let next = saved.next;
                if moved {
                    return Err(RunError::Cluster {
                        what: format!("task {task}, input {}", input.partition),
                        reason: format!(
                            "the group has no committed offset any more, and the state is not that of the last commit \
                             (offset {next}): processing would begin anew and count twice. Set the group's offset, or \
                             {BEGIN_ANEW}"
                        ),
                    });
                }
                refuse_newer(app, &input.partition, &saved, "position in the state directory")?;
                tracing::warn!(
                    input = %input.partition, offset = %next,
                    "the group's committed offset is gone (its retention?); the one saved with the state is used"
                );
                input.queue.seek(SeekTo::At(next));
                // The group is to know it again, whether there is anything new or not.
                let time = committed::stream_time(&saved.metadata).to_owned();
                first.push(self.set(task, input, next, &time));
                continue;
            }
            if restored && !begun {
                return Err(RunError::Cluster {
                    what: format!("task {task}, input {}", input.partition),
                    reason: format!(
                        "its changelogs have state, but the group has no committed offset any more, and no local state \
                         tells where processing was: from the start, it would count twice. Set the group's offset (with \
                         `kafka-consumer-groups --reset-offsets`), or {BEGIN_ANEW}"
                    ),
                });
            }
            let mut start = self.plan.topology.groups[task.group].starts[number];
            if start == Start::Latest {
                let Some(has_grown) = self.has_grown(input).await? else {
                    return Ok(Whose::Lost);
                };
                if has_grown {
                    // Nothing of it is older than the group.
                    start = Start::Earliest;
                }
            }
            if start == Start::Earliest && !stateful && self.plan.settings.transactions.is_none() {
                input.queue.seek(SeekTo::Earliest);
                continue;
            }
            // Resolved and committed now. Else what comes until the first commit would be missed by a restart; and
            // state without a committed offset could not be told from state whose offset is lost. In transactions, what only a
            // timer has sent would go without any offset, and nobody would ask whose the partition is.
            let partition = input.partition.clone();
            let ends = self
                .ends(&partition)
                .await
                .map_err(|error| RunError::cluster(format!("cannot find the ends of {partition}"), &error))?;
            let next = match start {
                Start::Earliest => {
                    input.queue.seek(SeekTo::Earliest);
                    ends.earliest
                }
                Start::Latest => {
                    input.queue.seek(SeekTo::At(ends.stable));
                    ends.stable
                }
            };
            first.push(self.set(task, input, next, ""));
        }
        if first.is_empty() {
            return Ok(Whose::Ours);
        }
        match retried(&*self.clock, self.plan.settings.patience, || {
            self.group.commit(first.clone())
        })
        .await
        {
            Err(error) if error.kind == ClusterErrorKind::OwnershipLost => Ok(Whose::Lost),
            Err(error) => Err(RunError::cluster(
                format!("task {task}: cannot commit the first position"),
                &error,
            )),
            Ok(()) => Ok(Whose::Ours),
        }
    }

    /// Sets an input's position. What to commit for it.
    fn set(&self, task: TaskId, input: &mut Input, next: Offset, stream_time: &str) -> OffsetCommit {
        let marks = committed::marks(&self.plan.topology, task.group);
        let metadata = committed::encode(stream_time, input.origin, &marks);
        input.committed = Some(CommittedOffset {
            next,
            metadata: metadata.clone(),
        });
        OffsetCommit {
            partition: input.partition.clone(),
            ownership: input.ownership,
            next,
            metadata,
        }
    }

    /// Whether the group has read the input's topic before it had this partition. `None`: we are no member of it any more.
    async fn has_grown(&self, input: &Input) -> Result<Option<bool>, RunError> {
        let Some(now) = input.origin else {
            return Ok(Some(false));
        };
        let all = (0..now.partitions)
            .map(|number| TopicPartition::new(input.partition.topic.clone(), Partition::new(number)));
        let committed = self.committed(all.collect(), self.plan.settings.patience).await;
        let committed =
            committed.map_err(|error| RunError::cluster("cannot read the committed offsets", &error))?;
        let Some(committed) = committed else {
            return Ok(None);
        };
        let mut origins = committed
            .iter()
            .flatten()
            .filter_map(|one| committed::origin(&one.metadata));
        Ok(Some(origins.any(|then| {
            then.is_same(now) && !then.had(input.partition.partition)
        })))
    }

    /// What was committed last, as the environments have it.
    fn saved(&self, slot: &Slot) -> Result<Vec<Option<CommittedOffset>>, RunError> {
        let mut saved: Vec<Option<CommittedOffset>> = vec![None; slot.inputs.len()];
        for kept in &slot.kept {
            let last: CommitPoint = kept
                .environment
                .last_commit()
                .map_err(|error| self.state(slot.tenure.task, kept.processor, error.to_string()))?;
            for position in last.inputs {
                let mut inputs = slot.inputs.iter();
                let Some(input) = inputs.position(|input| *input.partition.topic == *position.topic) else {
                    continue;
                };
                let one = CommittedOffset {
                    next: position.next,
                    metadata: position.metadata,
                };
                // Several processors: their states follow a commit in this order, and a crash may have come between. One that
                // is behind lacks nothing, for its changelogs had no more.
                let further = saved[input].take().filter(|other| other.next >= one.next);
                saved[input] = Some(further.unwrap_or(one));
            }
        }
        Ok(saved)
    }

    async fn ends(&self, partition: &TopicPartition) -> crate::cluster::Result<Watermarks> {
        retried(&*self.clock, self.plan.settings.patience, || async {
            let mut reader = self.cluster.reader(Isolation::ReadCommitted)?;
            reader.watermarks(partition.clone()).await
        })
        .await
    }
}

/// What a newer version has kept with a position is not passed over: stream time would begin anew, and what was owed would be
/// forgotten.
fn refuse_newer(
    group: &str,
    partition: &TopicPartition,
    position: &CommittedOffset,
    whose: &str,
) -> Result<(), RunError> {
    if !committed::is_newer(&position.metadata) {
        return Ok(());
    }
    Err(RunError::Cluster {
        what: format!("input {partition}"),
        // The offset is named: `--to-current` sets what has no committed offset to the end.
        reason: format!(
            "a newer version of kproc has written what is kept with its {whose} ({:?}), and this version does not understand \
             it: run that version. To go on with this one, set the group's offset with all instances stopped \
             (`kafka-consumer-groups --group {group} --reset-offsets --topic {}:{} --to-offset {} --execute`): stream time \
             then begins anew, and timers that had failed do not fire again",
            position.metadata, partition.topic, partition.partition, position.next
        ),
    })
}

/// Whether the task has changelogs, and whether anything is in them.
fn restored(slot: &Slot) -> (bool, bool) {
    let mut changelogs = slot.kept.iter().flat_map(|kept| &kept.changelogs).peekable();
    let stateful = changelogs.peek().is_some();
    let written = |changelog: &Changelog| changelog.next.is_some_and(|next| next > Offset::ZERO);
    (stateful, changelogs.any(written))
}
