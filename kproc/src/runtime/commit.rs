//! A commit. At least once: outputs are written and flushed, then changelogs, then the input offsets are committed, then
//! the state with the positions it corresponds to. Exactly once: all that goes into the cluster is one
//! transaction, and then the state follows.
//!
//! In this order a crash at any point leaves the state at or behind a point that the cluster has. Tasks commit
//! when they rest; one whose handler waits is left out, and commits when it comes to rest. So that it can be left
//! out of a transaction, too, tasks keep what they send until they commit, if there are transactions.

use std::{collections::BTreeMap, time::Duration};

use kproc_store::{Buffer, CommitPoint, InputPosition};

use super::{
    committed,
    error::RunError,
    fall_back::Fault,
    passages,
    plan::Plan,
    sabotage::Sabotage,
    seat::{Fate, Seat, Uncommitted},
    slot::{Input, Kept, Slot, Tenure},
    worker::Worker,
};
use crate::{
    clock::Clock,
    cluster::{ClusterErrorKind, CommittedOffset, OffsetCommit, Ownership, Positions},
    engine::{Attached, Task, TaskCommit},
    record::{Offset, Timestamp, TopicPartition},
};

const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

impl Worker {
    /// Commits the tasks that are due and at rest.
    pub(super) async fn commit_due(&mut self) {
        let due: Vec<Tenure> = self
            .seats
            .iter()
            .filter(|(_, seat)| seat.uncommitted == Uncommitted::Due && seat.committable())
            .map(|(tenure, _)| *tenure)
            .collect();
        if !due.is_empty() {
            self.commit(&due, None).await;
        }
    }

    /// Commits these tasks, which are at rest, by the deadline.
    pub(super) async fn commit(&mut self, tasks: &[Tenure], deadline: Option<Duration>) {
        if let Err(fault) = self.try_commit(tasks, deadline).await {
            self.commit_fails(tasks, fault, deadline).await;
        }
    }

    async fn try_commit(&mut self, tasks: &[Tenure], deadline: Option<Duration>) -> Result<(), Fault> {
        let _passage = self.clock.passage(passages::COMMIT);
        // Before the group is asked: until it has said that the partitions are ours, others may have written.
        let at = self.clock.wall();
        if !self.outlet.is_transactional() && !self.plan.has(Sabotage::ChangelogsBesideOutputs) {
            self.write_outputs(tasks, deadline).await?;
        }
        let mut prepared = self.prepare(tasks, deadline).await?;
        let sent = self.have_sent(tasks);
        if prepared.is_empty() && !sent {
            return Ok(());
        }
        self.clock.comes_to(passages::PREPARED);
        if self.plan.has(Sabotage::StateFirst) {
            self.save_all(&prepared, &Positions::new(), at).await;
        }
        if self.plan.has(Sabotage::OffsetsFirst) {
            self.commit_offsets(&mut prepared, deadline).await?;
        }
        let (positions, committed) = if !self.outlet.is_transactional() {
            let positions = self.flush(deadline).await?;
            self.clock.comes_to(passages::WRITTEN);
            (positions, self.commit_offsets(&mut prepared, deadline).await)
        } else if sent {
            let offsets = self.all_offsets(&prepared);
            let commit = self.outlet.commit(self.group.clone(), offsets);
            let committed = self.away.beside(commit, deadline).await;
            let positions = committed.ok_or(Fault::Interrupted)?.map_err(Fault::Transaction)?;
            (positions, Ok(()))
        } else {
            // Without records no transaction is begun; offsets that have passed over something go on nevertheless.
            (
                Positions::new(),
                self.commit_offsets(&mut prepared, deadline).await,
            )
        };
        self.seats.values_mut().for_each(|seat| seat.sent = false);
        // Also those that were refused count as dealt with; what was accepted goes on to the disk.
        let _passage = self.clock.passage(passages::STATE_FOLLOWS);
        self.clock
            .point("between the offsets' commit and the state's")
            .await;
        self.save_all(&prepared, &positions, at).await;
        committed
    }

    /// At least once: what these tasks have sent is written before their changelogs are. Were it the other way round, a
    /// crash between could leave a deletion without the record for whose sake it was made: what was deleted is not found
    /// when the input is processed again, and so the record would never be sent.
    async fn write_outputs(&mut self, tasks: &[Tenure], deadline: Option<Duration>) -> Result<(), Fault> {
        if self.have_sent(tasks) && self.plan.topology.logged_stores().next().is_some() {
            self.flush(deadline).await?;
        }
        Ok(())
    }

    /// Whether any of these has handed something over since the last commit.
    fn have_sent(&self, tasks: &[Tenure]) -> bool {
        let sent = |tenure| self.seats.get(tenure).is_some_and(|seat: &Seat| seat.sent);
        tasks.iter().any(sent)
    }

    async fn flush(&mut self, deadline: Option<Duration>) -> Result<Positions, Fault> {
        let flushed = self.away.beside(self.outlet.flush(), deadline).await;
        let mut flushed = flushed.ok_or(Fault::Interrupted)?;
        if self.plan.has(Sabotage::WriteErrorsIgnored) {
            flushed = flushed.or_else(|_| Ok(Positions::new()));
        }
        flushed.map_err(Fault::Production)
    }

    /// Writes the state of what was committed. `at`: a time at which the partitions were ours.
    pub(super) async fn save_all(
        &mut self,
        committed: &[(Tenure, TaskCommit)],
        positions: &Positions,
        at: Timestamp,
    ) {
        let (clock, plan) = (self.clock.clone(), self.plan.clone());
        for (tenure, commit) in committed {
            let Some(seat) = self.seats.get_mut(tenure) else {
                continue;
            };
            if let Err(error) = save(&plan, &mut seat.slot, commit, positions, at, &*clock).await {
                seat.fate = Fate::Void;
                self.supervisor.fail(error);
            }
        }
    }

    /// Hands what these tasks have sent, and what has changed in their stores, to the producer. Says what is to be
    /// committed with it.
    async fn prepare(
        &mut self,
        tasks: &[Tenure],
        deadline: Option<Duration>,
    ) -> Result<Vec<(Tenure, TaskCommit)>, Fault> {
        let settled = self.away.beside(self.outlet.settle(), deadline).await;
        settled.ok_or(Fault::Interrupted)?.map_err(Fault::Transaction)?;
        // Of all of them, before anything is handed over: what is learned may send some back.
        for tenure in tasks {
            self.may_produce(*tenure).await?;
            self.give_up_if_damaged(*tenure);
        }
        let mut prepared = Vec::new();
        for tenure in tasks {
            let Some(seat) = self.seats.get_mut(tenure).filter(|seat| seat.committable()) else {
                continue;
            };
            let Some(task) = seat.slot.task.as_mut() else {
                continue;
            };
            seat.uncommitted = Uncommitted::Nothing;
            let commit = task.prepare_commit();
            let all = self.plan.has(Sabotage::ReadTakenForProcessed);
            let passed = passed(task, &seat.slot.inputs, commit.as_ref(), all);
            let commit = (commit.is_some() || !passed.is_empty()).then(|| {
                let mut commit = commit.unwrap_or_else(|| task.unchanged());
                let mut inputs: BTreeMap<usize, Offset> = committed_before(&seat.slot.inputs).collect();
                // What was passed over stays so: of an input that was not read since, the task knows its last record only.
                for (input, next) in commit.inputs.into_iter().chain(passed) {
                    let furthest = inputs.entry(input).or_insert(next);
                    *furthest = next.max(*furthest);
                }
                commit.inputs = inputs.into_iter().collect();
                commit
            });
            if !task.outbox().is_empty() {
                // Last, so that little can come between this and the writing.
                self.confirm(&[*tenure], deadline).await?;
                let Some(seat) = self.seats.get_mut(tenure).filter(|seat| seat.committable()) else {
                    continue;
                };
                let Some(task) = seat.slot.task.as_mut() else {
                    continue;
                };
                seat.sent = true;
                // Unlike the verbs of a commit, it is soon done: it waits for room in the producer's queue at most.
                let sent = if self.outlet.is_transactional() {
                    // No handler runs between a transaction's records, so none can make it too old.
                    self.away.alone(self.outlet.send(task.outbox()), deadline).await
                } else {
                    self.away.beside(self.outlet.send(task.outbox()), deadline).await
                };
                sent.ok_or(Fault::Interrupted)?.map_err(Fault::Production)?;
            }
            prepared.extend(commit.map(|commit| (*tenure, commit)));
        }
        Ok(prepared)
    }

    /// A task whose state was found to be damaged commits nothing more, and the instance ends: whatever met the damage may have
    /// passed it over, as failures of handlers are if their policy is to skip. The next opening begins with nothing.
    pub(super) fn give_up_if_damaged(&mut self, tenure: Tenure) {
        let Some(seat) = self.seats.get_mut(&tenure).filter(|seat| seat.committable()) else {
            return;
        };
        let damaged = |kept: &Kept| Some((kept.processor, kept.environment.damage()?));
        if let Some((processor, what)) = seat.slot.kept.iter().find_map(damaged)
            && !self.plan.has(Sabotage::DamageIgnored)
        {
            seat.fate = Fate::Void;
            self.supervisor.fail(RunError::State {
                task: tenure.task.to_string(),
                processor: self.plan.topology.processors[processor].name.to_string(),
                reason: format!(
                    "it is damaged: {what}. The disk or the memory is faulty. Nothing that followed from it is committed; with \
                     the next start it is rebuilt from its changelogs"
                ),
            });
        }
    }

    /// Commits the offsets. Afterwards only what was accepted is left in `prepared`.
    async fn commit_offsets(
        &mut self,
        prepared: &mut Vec<(Tenure, TaskCommit)>,
        deadline: Option<Duration>,
    ) -> Result<(), Fault> {
        match self.commit_until(self.all_offsets(prepared), deadline).await {
            Err(Fault::Offsets(error)) if error.kind == ClusterErrorKind::OwnershipLost => {}
            Err(fault) => {
                prepared.clear();
                return Err(fault);
            }
            Ok(()) => return Ok(()),
        }
        // One of them is not ours any more, and has kept the others from being committed: one by one.
        let mut lost = Vec::new();
        let mut result = Ok(());
        for (tenure, commit) in std::mem::take(prepared) {
            let offsets = self.offsets(tenure, &commit);
            match if result.is_ok() {
                self.commit_until(offsets, deadline).await
            } else {
                Err(Fault::Interrupted)
            } {
                Ok(()) => prepared.push((tenure, commit)),
                Err(Fault::Offsets(error)) if error.kind == ClusterErrorKind::OwnershipLost => {
                    lost.push(tenure);
                }
                // What came first is told.
                Err(fault) => result = result.and(Err(fault)),
            }
        }
        for tenure in lost {
            self.disowned(tenure);
        }
        result
    }

    fn all_offsets(&self, prepared: &[(Tenure, TaskCommit)]) -> Vec<OffsetCommit> {
        prepared
            .iter()
            .flat_map(|(tenure, commit)| self.offsets(*tenure, commit))
            .collect()
    }

    fn offsets(&self, tenure: Tenure, commit: &TaskCommit) -> Vec<OffsetCommit> {
        let Some(seat) = self.seats.get(&tenure) else {
            return Vec::new();
        };
        let marks = committed::marks(&self.plan.topology, tenure.task.group);
        commit
            .inputs
            .iter()
            .map(|(number, next)| {
                let input = &seat.slot.inputs[*number];
                OffsetCommit {
                    partition: input.partition.clone(),
                    ownership: self.ownership(input.ownership),
                    next: *next,
                    metadata: committed::encode(&commit.metadata, input.origin, &marks),
                }
            })
            .collect()
    }

    /// The assignment that a commit names: the one under which the records came.
    fn ownership(&self, assigned: Ownership) -> Ownership {
        if self.plan.has(Sabotage::StaleMetadata) {
            return Ownership(assigned.0 - 1);
        }
        assigned
    }

    /// Commits offsets; asks again for as long as it may help. Committing an offset twice does no harm.
    pub(super) async fn commit_until(
        &mut self,
        offsets: Vec<OffsetCommit>,
        deadline: Option<Duration>,
    ) -> Result<(), Fault> {
        if offsets.is_empty() {
            return Ok(());
        }
        let mut wait = FIRST_WAIT;
        let patience = self.clock.now() + self.plan.settings.patience;
        loop {
            let sent = self.clock.now();
            let verb = self.group.commit(offsets.clone());
            let result = self.away.beside(verb, deadline).await;
            match result.ok_or(Fault::Interrupted)? {
                Ok(()) => {
                    self.standing.prove(sent);
                    return Ok(());
                }
                Err(error) if error.kind.is_transient() && self.clock.now() < patience => {
                    let places: Vec<String> = offsets
                        .iter()
                        .map(|offset| format!("{} {}", offset.partition, offset.next))
                        .collect();
                    tracing::warn!(%error, offsets = places.join(", "), "offsets could not be committed; trying again");
                    let pause = self.clock.sleep_until(self.clock.now() + wait);
                    let paused = self.away.beside(pause, deadline).await;
                    paused.ok_or(Fault::Interrupted)?;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                Err(error) => return Err(Fault::Offsets(error)),
            }
        }
    }
}

/// The inputs whose queues have gone past what was processed: markers, aborted records, records that compaction
/// has removed. Were they not committed, the group would seem to lag for ever.
fn passed(task: &Task, inputs: &[Input], commit: Option<&TaskCommit>, all: bool) -> Vec<(usize, Offset)> {
    let mut passed = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let done = commit.and_then(|commit| commit.inputs.iter().find(|(other, _)| *other == number));
        let done = done
            .map(|(_, next)| *next)
            .or(input.committed.as_ref().map(|committed| committed.next));
        if (all || task.wants(number))
            && let Some(position) = input.queue.position()
            && position > done.unwrap_or(Offset::ZERO)
        {
            passed.push((number, position));
        }
    }
    passed
}

/// Where the inputs were at the last commit. Those of which nothing new was read are committed again: what is kept with a
/// task's offsets is then of one moment; and if only a timer has done something, nobody would ask whether the partitions are
/// still ours if there were no offset at all.
pub(super) fn committed_before(inputs: &[Input]) -> impl Iterator<Item = (usize, Offset)> {
    let numbered = inputs.iter().enumerate();
    numbered.filter_map(|(number, input)| Some((number, input.committed.as_ref()?.next)))
}

/// Writes a task's state, with the positions it corresponds to.
async fn save(
    plan: &Plan,
    slot: &mut Slot,
    commit: &TaskCommit,
    positions: &Positions,
    at: Timestamp,
    clock: &dyn Clock,
) -> Result<(), RunError> {
    let tenure = slot.tenure;
    for (number, next) in &commit.inputs {
        slot.inputs[*number].committed = Some(CommittedOffset {
            next: *next,
            metadata: commit.metadata.clone(),
        });
    }
    let Some(task) = slot.task.as_mut() else {
        return Ok(());
    };
    let positions: BTreeMap<&TopicPartition, Offset> = positions
        .iter()
        .map(|(partition, next)| (partition, *next))
        .collect();
    let inputs: Vec<InputPosition> = slot
        .inputs
        .iter()
        .filter_map(|input| {
            let committed = input.committed.as_ref()?;
            Some(InputPosition {
                topic: input.partition.topic.to_string(),
                next: committed.next,
                metadata: committed.metadata.clone(),
            })
        })
        .collect();
    let mut buffers = task.detach();
    let mut result = Ok(());
    for kept in &mut slot.kept {
        for changelog in &mut kept.changelogs {
            changelog.next = positions.get(&changelog.partition).copied().or(changelog.next);
        }
        let point = CommitPoint {
            changelogs: kept
                .changelogs
                .iter()
                .filter_map(|log| Some((log.store, log.next?)))
                .collect(),
            inputs: inputs.clone(),
            committed_at: Some(at),
        };
        let mut own: Vec<(usize, &mut Buffer)> = buffers
            .iter_mut()
            .filter(|attached| attached.processor == kept.processor)
            .map(|Attached { store, buffer, .. }| (*store, buffer))
            .collect();
        if plan.has(Sabotage::PositionWithoutState) {
            for (_, buffer) in &mut own {
                buffer.discard();
            }
        }
        if let Err(error) = kept.environment.commit(&mut own, &point) {
            result = Err(RunError::State {
                task: tenure.task.to_string(),
                processor: plan.topology.processors[kept.processor].name.to_string(),
                reason: error.to_string(),
            });
            break;
        }
        clock.point(passages::SAVED).await;
    }
    for attached in buffers {
        task.attach(attached);
    }
    slot.falls = 0;
    if let Some(vouch) = &mut slot.vouch {
        vouch.put_off(clock.now());
    }
    result
}
