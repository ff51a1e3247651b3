//! A worker takes a task that was restored: builds it over its state, and starts it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    committed,
    error::RunError,
    passages,
    sabotage::Sabotage,
    seat::{Activity, Fate, Known, Seat, Uncommitted},
    slot::Slot,
    status::TaskPhase,
    worker::Worker,
};
use crate::{
    engine::{Attached, Task},
    error::panic_message,
    outbox::FRAMING,
};

impl Worker {
    /// Takes a restored task: builds it and starts it.
    pub(super) fn take(&mut self, mut slot: Slot) {
        let tenure = slot.tenure;
        let task = catch_unwind(AssertUnwindSafe(|| self.build(&mut slot)));
        let task = task.unwrap_or_else(|panic| {
            let part = format!("task {}: making its processors", tenure.task);
            Err(RunError::Panic {
                part,
                message: panic_message(&*panic).to_owned(),
            })
        });
        let task = match task {
            Ok(task) => task,
            Err(error) => {
                slot.close();
                self.board.gone(tenure);
                self.supervisor.fail(error);
                return;
            }
        };
        self.board.pulses[self.number].add(tenure, task.progress().clone());
        slot.task = Some(task);
        let rest = self.rests.add(tenure);
        let known = vec![Known::default(); slot.inputs.len()];
        let seat = Seat {
            slot,
            rest,
            activation: None,
            started: false,
            unfinished: true,
            wake_at: None,
            known,
            uncommitted: Uncommitted::Nothing,
            sent: false,
            fate: Fate::GoesOn,
            fire_due: None,
            firing: None,
            lend_due: None,
        };
        self.seats.insert(tenure, seat);
        self.board
            .task(tenure, TaskPhase::Running { worker: self.number });
        self.clock.comes_to(passages::BEGUN);
        self.activate(tenure, Activity::Start);
    }

    fn build(&self, slot: &mut Slot) -> Result<Task, RunError> {
        let id = slot.tenure.task;
        let carry = std::mem::take(&mut slot.carry);
        let mut task = Task::new(
            &self.plan.topology,
            &self.plan.factories,
            id.group,
            id.partition,
            &self.plan.settings.task,
            carry,
        );
        for kept in &slot.kept {
            let processor = kept.processor;
            for store in 0..self.plan.topology.processors[processor].stores.len() {
                let mut buffer = kept.environment.buffer(store, task.marks()).map_err(|error| {
                    let name = self.plan.topology.processors[processor].name.to_string();
                    RunError::State {
                        task: id.to_string(),
                        processor: name,
                        reason: error.to_string(),
                    }
                })?;
                let topology = &self.plan.topology;
                if topology.processors[processor].stores[store].1.changelog
                    && let Some(limit) = topology
                        .bindings
                        .limits()
                        .get(&topology.changelog(processor, store))
                {
                    buffer.limit_entries(limit.bytes.saturating_sub(FRAMING));
                }
                task.attach(Attached {
                    processor,
                    store,
                    buffer,
                });
            }
        }
        for input in &slot.inputs {
            if let Some(committed) = &input.committed {
                task.restore_time(committed::stream_time(&committed.metadata));
            }
        }
        if self.plan.has(Sabotage::OwedForgotten) {
            task.forget_owed();
        }
        Ok(task)
    }
}
