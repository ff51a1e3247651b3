//! Brings a task's state to its last commit: environments opened, changelogs read to their ends, inputs at the
//! committed positions.
//!
//! The committed offset is read first, then the end of the changelog: whatever was committed with the offset is
//! then below that end. A restore is over when its *position* has reached the end, for the last record may be a
//! marker or may have been compacted away.

use std::{path::PathBuf, sync::Arc, time::Duration};

use kproc_store::{CommitPoint, Condition, Environment, Opened};

use super::{
    committed,
    error::{BEGIN_ANEW, RunError},
    patience::retried,
    plan::Plan,
    slot::{Changelog, Kept, Slot, Tenure},
    status::{Board, TaskPhase},
};
use crate::{
    TaskId,
    clock::Clock,
    cluster::{
        Cluster, ClusterError, ClusterErrorKind, CommittedOffset, Group, Isolation, OffsetCommit, Reader,
        SeekTo,
    },
    engine::stream_time,
    processor::Start,
    record::{Offset, TopicPartition},
};

/// How long one read waits for records.
const READ_WAIT: Duration = Duration::from_millis(200);

/// What restoring takes.
pub(super) struct Restore {
    pub(super) plan: Arc<Plan>,
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) group: Arc<dyn Group>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) board: Arc<Board>,
}

impl Restore {
    /// Brings `slot` to its last commit. May be dropped at any point and begun again: what was restored stays.
    pub(super) async fn run(&self, slot: &mut Slot) -> Result<(), RunError> {
        let tenure = slot.tenure;
        let what = |what: &str| format!("task {}: {what}", tenure.task);
        self.board
            .task(tenure, TaskPhase::Restoring { done: 0, total: 0 });

        let partitions: Vec<TopicPartition> =
            slot.inputs.iter().map(|input| input.partition.clone()).collect();
        let patience = self.plan.settings.patience;
        let committed = retried(&*self.clock, patience, || {
            self.group.committed(partitions.clone())
        })
        .await
        .map_err(|error| RunError::cluster(what("cannot read the committed offsets"), &error))?;
        for (input, committed) in slot.inputs.iter_mut().zip(committed) {
            input.committed = committed;
        }

        if slot.kept.is_empty() {
            slot.kept = self.open(tenure.task)?;
        }
        let mut moved = false;
        let mut progress = Progress {
            board: &self.board,
            tenure,
            done: 0,
            total: 0,
        };
        for kept in &mut slot.kept {
            let Kept {
                processor,
                environment,
                changelogs,
            } = kept;
            for changelog in changelogs {
                let mut one = Changelogs {
                    restore: self,
                    task: tenure.task,
                    processor: *processor,
                    environment,
                };
                moved |= one.restore(changelog, &mut progress).await?;
            }
        }
        if progress.done >= self.plan.settings.reopen_after {
            slot.close_environments();
            slot.kept = self.open(tenure.task)?;
        }
        self.seek(slot, moved).await
    }

    /// Opens the environments of a task.
    fn open(&self, task: TaskId) -> Result<Vec<Kept>, RunError> {
        let topology = &self.plan.topology;
        let mut all = Vec::new();
        for &processor in &topology.groups[task.group].processors {
            let spec = &topology.processors[processor];
            if spec.stores.is_empty() {
                continue;
            }
            let directory = self.directory(processor, task);
            let stores: Vec<_> = spec.stores.iter().map(|(store, _)| store.clone()).collect();
            let failed = |reason: String| self.state(task, processor, reason);
            let opened = Environment::open(&directory, &stores, &self.plan.settings.store, self.clock.wall());
            let Opened {
                environment,
                condition,
            } = opened.map_err(|error| failed(error.to_string()))?;
            if let Condition::Rebuild { reason, set_aside } = condition {
                tracing::warn!(
                    %task, processor = %spec.name, %reason, ?set_aside,
                    "state is rebuilt from its changelogs"
                );
            }
            let mut changelogs = Vec::new();
            for (store, (_, options)) in spec.stores.iter().enumerate() {
                if options.changelog {
                    let next = environment
                        .position(store)
                        .map_err(|error| failed(error.to_string()))?;
                    let partition = TopicPartition::new(topology.changelog(processor, store), task.partition);
                    changelogs.push(Changelog {
                        store,
                        partition,
                        next,
                    });
                }
            }
            all.push(Kept {
                processor,
                environment,
                changelogs,
            });
        }
        Ok(all)
    }

    fn directory(&self, processor: usize, task: TaskId) -> PathBuf {
        let mut directory = self.plan.directory();
        directory.push(&*self.plan.topology.processors[processor].name);
        directory.push(task.partition.to_string());
        directory
    }

    fn state(&self, task: TaskId, processor: usize, reason: String) -> RunError {
        let processor = self.plan.topology.processors[processor].name.to_string();
        RunError::State {
            task: task.to_string(),
            processor,
            reason,
        }
    }

    /// Sets the inputs to where their processing goes on. `moved`: the changelogs had something that the
    /// environments did not have.
    async fn seek(&self, slot: &mut Slot, moved: bool) -> Result<(), RunError> {
        let saved = self.saved(slot)?;
        let task = slot.tenure.task;
        let mut first = Vec::new();
        for (number, (input, saved)) in slot.inputs.iter_mut().zip(saved).enumerate() {
            if let Some(committed) = &input.committed {
                input.queue.seek(SeekTo::At(committed.next));
                continue;
            }
            // Nothing was committed, or it is no longer known. The state may know better.
            if let Some(saved) = saved {
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
                tracing::warn!(
                    input = %input.partition, offset = %next,
                    "the group's committed offset is gone (its retention?); the one saved with the state is used"
                );
                input.queue.seek(SeekTo::At(next));
                input.committed = Some(saved);
                continue;
            }
            match self.plan.topology.groups[task.group].starts[number] {
                Start::Earliest => input.queue.seek(SeekTo::Earliest),
                Start::Latest => {
                    // Resolved and committed now: else what comes until the first commit would be missed by a
                    // restart.
                    let partition = input.partition.clone();
                    let latest = self.latest(&partition).await.map_err(|error| {
                        RunError::cluster(format!("cannot find the end of {partition}"), &error)
                    })?;
                    input.queue.seek(SeekTo::At(latest));
                    let ownership = input.ownership;
                    first.push(OffsetCommit {
                        partition,
                        ownership,
                        next: latest,
                        metadata: committed::encode("", &committed::marks(&self.plan.topology, task.group)),
                    });
                }
            }
        }
        if first.is_empty() {
            return Ok(());
        }
        match retried(&*self.clock, self.plan.settings.patience, || {
            self.group.commit(first.clone())
        })
        .await
        {
            // Lost already: the order that says so is under way.
            Err(error) if error.kind != ClusterErrorKind::OwnershipLost => Err(RunError::cluster(
                format!("task {task}: cannot commit the first position"),
                &error,
            )),
            _ => Ok(()),
        }
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
                    metadata: stream_time::encode(last.stream_time),
                };
                // Several processors: they commit together; a crash may have come between.
                let earlier = saved[input].take().filter(|other| other.next < one.next);
                saved[input] = Some(earlier.unwrap_or(one));
            }
        }
        Ok(saved)
    }

    async fn latest(&self, partition: &TopicPartition) -> crate::cluster::Result<Offset> {
        retried(&*self.clock, self.plan.settings.patience, || async {
            let mut reader = self.cluster.reader(Isolation::ReadCommitted)?;
            Ok(reader.watermarks(partition.clone()).await?.stable)
        })
        .await
    }
}

struct Progress<'b> {
    board: &'b Board,
    tenure: Tenure,
    done: u64,
    total: u64,
}

impl Progress<'_> {
    fn show(&self) {
        self.board.task(
            self.tenure,
            TaskPhase::Restoring {
                done: self.done,
                total: self.total,
            },
        );
    }
}

/// Restores the changelogs of one environment.
struct Changelogs<'r> {
    restore: &'r Restore,
    task: TaskId,
    processor: usize,
    environment: &'r Environment,
}

impl Changelogs<'_> {
    /// Reads a changelog to its present end. Whether there was anything in it that the state did not have.
    async fn restore(
        &mut self,
        changelog: &mut Changelog,
        progress: &mut Progress<'_>,
    ) -> Result<bool, RunError> {
        let Restore {
            cluster: connection,
            clock,
            plan,
            ..
        } = self.restore;
        let failed = |error: &ClusterError| {
            RunError::cluster(format!("cannot restore from {}", changelog.partition), error)
        };
        let mut reader = connection
            .reader(Isolation::ReadCommitted)
            .map_err(|error| failed(&error))?;
        let patience = plan.settings.patience;
        let mut from = self.begin(changelog, &mut *reader).await?;
        let (mut at, end) = from;
        progress.total += end.since(at);
        progress.show();
        let mut moved = false;
        let mut heard = clock.now();
        while at < end {
            let read = reader
                .read(
                    changelog.partition.clone(),
                    at,
                    plan.settings.restore_batch,
                    READ_WAIT,
                )
                .await;
            let mut read = match read {
                Ok(read) => read,
                Err(error) if error.kind == ClusterErrorKind::OffsetOutOfRange => {
                    // The log's start has passed us by.
                    from = self.begin(changelog, &mut *reader).await?;
                    if from.0 <= at {
                        return Err(RunError::cluster(
                            format!("cannot restore from {}", changelog.partition),
                            &error,
                        ));
                    }
                    at = from.0;
                    continue;
                }
                Err(error) if error.kind.is_transient() && clock.now() < heard + patience => {
                    clock.sleep_until(clock.now() + READ_WAIT).await;
                    continue;
                }
                Err(error) => {
                    return Err(RunError::cluster(
                        format!("cannot restore from {}", changelog.partition),
                        &error,
                    ));
                }
            };
            if read.next == at {
                if clock.now() >= heard + patience {
                    return Err(RunError::Cluster {
                        what: format!("cannot restore from {}", changelog.partition),
                        reason: format!(
                            "nothing came for {}; position {at}, end {end}. Is there a transaction that never ends?",
                            humantime::format_duration(patience)
                        ),
                    });
                }
                continue;
            }
            heard = clock.now();
            progress.done += read.next.since(at);
            // What is passed over at the end of a log is the last transaction's marker, and no more than one.
            moved |= read.batch.remaining() > 0 || read.next.since(at) > 1;
            self.apply(changelog, &mut read.batch, read.next)?;
            at = read.next;
            progress.show();
            clock.point("between two batches of a restore").await;
        }
        Ok(moved)
    }

    /// Where to begin and where to end.
    async fn begin(
        &mut self,
        changelog: &mut Changelog,
        reader: &mut dyn Reader,
    ) -> Result<(Offset, Offset), RunError> {
        let reader = tokio::sync::Mutex::new(reader);
        let ends = retried(
            &*self.restore.clock,
            self.restore.plan.settings.patience,
            || async { reader.lock().await.watermarks(changelog.partition.clone()).await },
        )
        .await
        .map_err(|error| {
            RunError::cluster(format!("cannot find the ends of {}", changelog.partition), &error)
        })?;
        let store = &self.restore.plan.topology.processors[self.processor].stores[changelog.store]
            .0
            .name;
        match changelog.next {
            None => {
                // A restore that never saved a batch may still have left something.
                changelog.next = Some(ends.earliest);
                Ok((ends.earliest, ends.latest))
            }
            Some(next) if next < ends.earliest => {
                tracing::warn!(
                    task = %self.task, %store, changelog = %changelog.partition, position = %next, start = %ends.earliest,
                    "the changelog no longer goes back to where the store is: the store is emptied and rebuilt"
                );
                self.environment
                    .clear(changelog.store)
                    .map_err(|error| self.restore.state(self.task, self.processor, error.to_string()))?;
                changelog.next = Some(ends.earliest);
                Ok((ends.earliest, ends.latest))
            }
            Some(next) if next > ends.latest => Err(self.restore.state(
                self.task,
                self.processor,
                format!(
                    "store `{store}` is at offset {next} of its changelog {}, which ends at {}: the topic was deleted, or \
                     made again, or has lost records. To go on with what the changelog still has, remove {}; or else \
                     {BEGIN_ANEW}",
                    changelog.partition,
                    ends.latest,
                    self.restore.directory(self.processor, self.task).display()
                ),
            )),
            Some(next) => Ok((next, ends.latest)),
        }
    }

    fn apply(
        &mut self,
        changelog: &mut Changelog,
        batch: &mut crate::Batch,
        next: Offset,
    ) -> Result<(), RunError> {
        let mut rows = Vec::with_capacity(batch.remaining());
        // Records borrow the batch, so it is walked with a cursor of its own.
        batch.each(|key, value| match key {
            Some(key) => rows.push((key, value)),
            None => {
                tracing::warn!(changelog = %changelog.partition, "a record without a key was passed over");
            }
        });
        self.environment
            .restore(changelog.store, &mut rows.into_iter(), next)
            .map_err(|error| self.restore.state(self.task, self.processor, error.to_string()))?;
        changelog.next = Some(next);
        Ok(())
    }
}
