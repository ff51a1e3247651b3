//! Brings a task's state to its last commit: environments opened, changelogs read to their ends, inputs at the
//! committed positions.
//!
//! The committed offset is read first, then the end of the changelog: whatever was committed with the offset is
//! then below that end.
//!
//! Here is the order of these steps; what each of them does is in a module of its own.

pub(super) mod age;
mod changelog;
mod inputs;
mod progress;
mod topics;

use std::{convert::Infallible, path::PathBuf, sync::Arc, time::Duration};

use kproc_store::{Condition, Environment, Opened};

pub(super) use self::inputs::Whose;
use self::{changelog::Changelogs, progress::Progress};
use super::{
    error::RunError,
    origin::{self, Asker, Found},
    passages,
    patience::retried,
    plan::Plan,
    sabotage::Sabotage,
    slot::{Changelog, Kept, Slot, Vouch},
    status::{Board, TaskPhase},
};
use crate::{
    TaskId,
    clock::Clock,
    cluster::{self, Cluster, ClusterErrorKind, CommittedOffset, Group},
    record::TopicPartition,
};

/// A restore that has got nowhere for so long says what it waits for.
const TELL_AFTER: Duration = Duration::from_secs(3);

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
    pub(super) async fn run(&self, slot: &mut Slot) -> Result<Whose, RunError> {
        let tenure = slot.tenure;
        self.board
            .task(tenure, TaskPhase::Restoring { done: 0, total: 0 });

        if self.read_committed(slot).await? == Whose::Lost {
            return Ok(Whose::Lost);
        }
        let topics = self.identify(slot).await?;
        if slot.kept.is_empty() {
            slot.kept = self.open(tenure.task)?;
        }
        self.refuse_others(slot, &topics)?;
        let mut progress = Progress::new(self, tenure);
        let mut moved = self.replay(slot, &topics, &mut progress).await?;
        if progress.done() >= self.plan.settings.reopen_after {
            slot.close_environments();
            slot.kept = self.open(tenure.task)?;
            // What could not be closed well begins with nothing again.
            moved |= self.replay(slot, &topics, &mut progress).await?;
        }
        self.clock.comes_to(passages::REPLAYED);
        slot.vouch = self.vouch(slot, &topics);
        progress.end(self.entries(slot)?);
        let whose = self.seek(slot, &topics, moved).await?;
        for kept in &slot.kept {
            let own = kept.changelogs.iter().map(|changelog| &changelog.partition.topic);
            let inputs = slot.inputs.iter().map(|input| &input.partition.topic);
            let topics = own.chain(inputs).filter_map(|topic| topics.get(topic));
            origin::note(&kept.environment, topics)
                .map_err(|error| self.state(tenure.task, kept.processor, error.to_string()))?;
        }
        Ok(whose)
    }

    /// Reads the changelogs to their ends. Whether there was anything in them that the state did not have.
    async fn replay(
        &self,
        slot: &mut Slot,
        topics: &Found,
        progress: &mut Progress<'_>,
    ) -> Result<bool, RunError> {
        let task = slot.tenure.task;
        let mut moved = false;
        for kept in &mut slot.kept {
            let Kept {
                processor,
                environment,
                changelogs,
            } = kept;
            for changelog in changelogs {
                let mut one = Changelogs {
                    restore: self,
                    task,
                    processor: *processor,
                    environment,
                    kept: age::kept(topics.get(&changelog.partition.topic)),
                };
                moved |= one.restore(changelog, progress).await?;
            }
        }
        Ok(moved)
    }

    /// When it is to be noted that the stores are still up to date, should nothing be written to them.
    fn vouch(&self, slot: &Slot, topics: &Found) -> Option<Vouch> {
        let changelogs = slot.kept.iter().flat_map(|kept| &kept.changelogs);
        let kept = changelogs.map(|changelog| age::kept(topics.get(&changelog.partition.topic)));
        let interval = age::interval(kept.min()?);
        Some(Vouch::new(interval, self.clock.now()))
    }

    /// How many entries a task's stores have.
    fn entries(&self, slot: &Slot) -> Result<u64, RunError> {
        let mut entries = 0;
        for kept in &slot.kept {
            for store in 0..self.plan.topology.processors[kept.processor].stores.len() {
                let of_store = kept.environment.entries(store);
                entries += of_store
                    .map_err(|error| self.state(slot.tenure.task, kept.processor, error.to_string()))?;
            }
        }
        Ok(entries)
    }

    /// The group's committed offsets. `None`: it does not take this instance for its member any more.
    async fn committed(
        &self,
        partitions: Vec<TopicPartition>,
        patience: Duration,
    ) -> cluster::Result<Option<Vec<Option<CommittedOffset>>>> {
        let committed = retried(&*self.clock, patience, || {
            self.group.committed(partitions.clone())
        });
        match committed.await {
            Err(error) if error.kind == ClusterErrorKind::OwnershipLost => Ok(None),
            committed => committed.map(Some),
        }
    }

    /// Asks for the task's committed offsets.
    async fn read_committed(&self, slot: &mut Slot) -> Result<Whose, RunError> {
        let partitions: Vec<TopicPartition> =
            slot.inputs.iter().map(|input| input.partition.clone()).collect();
        let committed = self.committed(partitions, self.plan.settings.patience_with_transactions());
        let task = slot.tenure.task;
        let told = async {
            self.clock.sleep_until(self.clock.now() + TELL_AFTER).await;
            tracing::warn!(
                %task,
                "the restore waits for the committed offsets: a transaction that is not decided may hold them (an instance has \
                 died in the middle of it, or is frozen; brokers end it by its time-out, if its owner does not), or the \
                 brokers do not answer"
            );
            std::future::pending::<Infallible>().await
        };
        let committed = tokio::select! { biased;
            committed = committed => committed,
            never = told => match never {},
        };
        let committed = committed.map_err(|error| {
            let what = format!("task {task}: cannot read the committed offsets");
            RunError::cluster(what, &error)
        })?;
        let Some(committed) = committed else {
            return Ok(Whose::Lost);
        };
        if slot.falls == 0 || !self.plan.has(Sabotage::UnknownTakenForAborted) {
            for (input, committed) in slot.inputs.iter_mut().zip(committed) {
                input.committed = committed;
            }
        }
        Ok(Whose::Ours)
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
            if self.plan.has(Sabotage::StateWiped) {
                let _ = std::fs::remove_dir_all(&directory);
            }
            let opened = Environment::open(&directory, &stores, &self.plan.settings.store);
            let Opened {
                environment,
                condition,
            } = opened.map_err(|error| failed(error.to_string()))?;
            // Why was told before.
            if let Condition::Rebuild { set_aside, .. } = condition {
                self.clock.happens(passages::REBUILT);
                tracing::warn!(%task, processor = %spec.name, ?set_aside, "state is rebuilt from its changelogs");
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
}
