//! Brings a task's state to its last commit: environments opened, changelogs read to their ends, inputs at the
//! committed positions.
//!
//! The committed offset is read first, then the end of the changelog: whatever was committed with the offset is
//! then below that end. A restore is over when its *position* has reached the end, for the last record may be a
//! marker or may have been compacted away.

use std::{future::poll_fn, path::PathBuf, sync::Arc, task::Poll, time::Duration};

use kproc_store::{CommitPoint, Condition, Environment, Opened};

use super::{
    committed,
    error::{BEGIN_ANEW, RunError},
    origin::{self, Asker, Found, Origin, of_the_old_one},
    patience::retried,
    plan::Plan,
    restore_progress::Progress,
    sabotage::Sabotage,
    slot::{Changelog, Input, Kept, Slot},
    status::{Board, TaskPhase},
};
use crate::{
    TaskId,
    clock::Clock,
    cluster::{
        Cluster, ClusterError, ClusterErrorKind, CommittedOffset, Group, Isolation, OffsetCommit, Reader,
        SeekTo, TopicDescription, Watermarks,
    },
    engine::stream_time,
    processor::Start,
    record::{Offset, Partition, TopicPartition},
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
    pub(super) asker: Arc<Asker>,
}

impl Restore {
    /// Brings `slot` to its last commit. May be dropped at any point and begun again: what was restored stays.
    pub(super) async fn run(&self, slot: &mut Slot) -> Result<(), RunError> {
        let tenure = slot.tenure;
        self.board
            .task(tenure, TaskPhase::Restoring { done: 0, total: 0 });

        self.read_committed(slot).await?;
        if slot.kept.is_empty() {
            slot.kept = self.open(tenure.task)?;
        }
        let topics = self.identify(slot).await?;
        let mut moved = false;
        let mut progress = Progress::new(self, tenure);
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
        progress.end();
        if progress.done() >= self.plan.settings.reopen_after {
            slot.close_environments();
            slot.kept = self.open(tenure.task)?;
        }
        self.seek(slot, &topics, moved).await?;
        for kept in &slot.kept {
            let own = kept.changelogs.iter().map(|changelog| &changelog.partition.topic);
            let inputs = slot.inputs.iter().map(|input| &input.partition.topic);
            let topics = own.chain(inputs).filter_map(|topic| topics.get(topic));
            origin::note(&kept.environment, topics)
                .map_err(|error| self.state(tenure.task, kept.processor, error.to_string()))?;
        }
        Ok(())
    }

    /// Finds out which topics the task's are, and refuses state of older ones.
    async fn identify(&self, slot: &mut Slot) -> Result<Found, RunError> {
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

    /// Asks for the committed offsets.
    async fn read_committed(&self, slot: &mut Slot) -> Result<(), RunError> {
        let partitions: Vec<TopicPartition> =
            slot.inputs.iter().map(|input| input.partition.clone()).collect();
        let patience = self.plan.settings.patience;
        let committed = retried(&*self.clock, patience, || {
            self.group.committed(partitions.clone())
        });
        let committed = committed.await.map_err(|error| {
            let what = format!("task {}: cannot read the committed offsets", slot.tenure.task);
            RunError::cluster(what, &error)
        })?;
        if slot.falls == 0 || !self.plan.has(Sabotage::UnknownTakenForAborted) {
            for (input, committed) in slot.inputs.iter_mut().zip(committed) {
                input.committed = committed;
            }
        }
        Ok(())
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
    async fn seek(&self, slot: &mut Slot, topics: &Found, moved: bool) -> Result<(), RunError> {
        let saved = self.saved(slot)?;
        let task = slot.tenure.task;
        let mut first = Vec::new();
        // Whether processing has begun at some time, as far as offsets tell.
        let begun =
            slot.inputs.iter().any(|input| input.committed.is_some()) || saved.iter().any(Option::is_some);
        let (stateful, restored) = restored(slot);
        for (number, (input, saved)) in slot.inputs.iter_mut().zip(saved).enumerate() {
            if let Some(committed) = &input.committed {
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
                tracing::warn!(
                    input = %input.partition, offset = %next,
                    "the group's committed offset is gone (its retention?); the one saved with the state is used"
                );
                input.queue.seek(SeekTo::At(next));
                input.committed = Some(saved);
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
            if start == Start::Latest && self.has_grown(input).await? {
                // Nothing of it is older than the group.
                start = Start::Earliest;
            }
            if start == Start::Earliest && !stateful {
                input.queue.seek(SeekTo::Earliest);
                continue;
            }
            // Resolved and committed now. Else what comes until the first commit would be missed by a restart; and
            // state without a committed offset could not be told from state whose offset is lost.
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
            let marks = committed::marks(&self.plan.topology, task.group);
            first.push(OffsetCommit {
                partition,
                ownership: input.ownership,
                next,
                metadata: committed::encode("", input.origin, &marks),
            });
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

    /// Whether the state in any of these environments is of another topic.
    fn is_of_another(
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

    /// Whether the group has read the input's topic before it had this partition.
    async fn has_grown(&self, input: &Input) -> Result<bool, RunError> {
        let Some(now) = input.origin else { return Ok(false) };
        let all = (0..now.partitions)
            .map(|number| TopicPartition::new(input.partition.topic.clone(), Partition::new(number)));
        let all: Vec<_> = all.collect();
        let committed = retried(&*self.clock, self.plan.settings.patience, || {
            self.group.committed(all.clone())
        });
        let committed = committed
            .await
            .map_err(|error| RunError::cluster("cannot read the committed offsets", &error))?;
        let mut origins = committed
            .iter()
            .flatten()
            .filter_map(|one| committed::origin(&one.metadata));
        Ok(origins.any(|then| then.is_same(now) && !then.had(input.partition.partition)))
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

    async fn ends(&self, partition: &TopicPartition) -> crate::cluster::Result<Watermarks> {
        retried(&*self.clock, self.plan.settings.patience, || async {
            let mut reader = self.cluster.reader(Isolation::ReadCommitted)?;
            reader.watermarks(partition.clone()).await
        })
        .await
    }
}

/// Whether the task has changelogs, and whether anything is in them.
fn restored(slot: &Slot) -> (bool, bool) {
    let mut changelogs = slot.kept.iter().flat_map(|kept| &kept.changelogs).peekable();
    let stateful = changelogs.peek().is_some();
    let written = |changelog: &Changelog| changelog.next.is_some_and(|next| next > Offset::ZERO);
    (stateful, changelogs.any(written))
}

/// Lets others on the same thread go on.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
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
        let isolation = if plan.has(Sabotage::UncommittedRestored) {
            Isolation::ReadUncommitted
        } else {
            Isolation::ReadCommitted
        };
        let mut reader = connection.reader(isolation).map_err(|error| failed(&error))?;
        let patience = plan.settings.patience;
        let mut from = self.begin(changelog, &mut *reader).await?;
        let (mut at, end) = from;
        progress.expect(end.since(at));
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
            let passed = read.next.since(at);
            // What is passed over at the end of a log is the last transaction's marker, and no more than one.
            moved |= read.batch.remaining() > 0 || read.next.since(at) > 1;
            let done = if plan.has(Sabotage::RestoreSaysDone) {
                end
            } else {
                read.next
            };
            self.apply(changelog, &mut read.batch, done)?;
            at = read.next;
            progress.pass(passed);
            clock.point("between two batches of a restore").await;
            // Records that are there already are no reason to wait: other restores and orders get their turn.
            yield_now().await;
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
        let mut ends = retried(
            &*self.restore.clock,
            self.restore.plan.settings.patience,
            || async { reader.lock().await.watermarks(changelog.partition.clone()).await },
        )
        .await
        .map_err(|error| {
            RunError::cluster(format!("cannot find the ends of {}", changelog.partition), &error)
        })?;
        if self.restore.plan.has(Sabotage::RestoreEndsEarly) {
            ends.latest = ends.stable;
        }
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
        let keep = self.restore.plan.has(Sabotage::DeletionsForgotten);
        let mut rows = Vec::with_capacity(batch.remaining());
        // Records borrow the batch, so it is walked with a cursor of its own.
        batch.each(|key, value| match key {
            Some(_) if value.is_none() && keep => {}
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
