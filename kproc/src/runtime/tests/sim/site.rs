//! Where a trial takes place: a cluster, and slots in which instances come and go, each with a state directory.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{
    super::kit::{APP, Instance, World},
    machine::{self, Machine},
    plan::Plan,
    trial::Trial,
    workload::{Diary, Line, Mode, Stand},
};
use crate::{
    Clock, Policy, Retry, TopicPartition,
    runtime::{RunError, RunState, Settings, Transactions},
    testing::{clock::SimClock, exec::Executor},
};

/// The slots, by the names of their directories.
pub(super) const SLOTS: [&str; 2] = ["a", "b"];

/// See the module.
pub(super) struct Site {
    pub(super) world: World,
    trial: Trial,
    commit_interval: Duration,
    restore_batch: usize,
    panics: bool,
    pub(super) diary: Diary,
    slots: [Slot; SLOTS.len()],
    machines: [Arc<Machine>; SLOTS.len()],
    started: u64,
}

/// What is in a slot.
#[derive(Default)]
struct Slot {
    instance: Option<Instance>,
    /// It is to be started again as soon as it is down.
    again: bool,
    /// It stands still until then.
    frozen: Option<Duration>,
}

impl Site {
    pub(super) fn new(executor: Executor, trial: &Trial, plan: &Plan) -> Self {
        let clock = executor.clock().clone();
        let harmed = Arc::<std::sync::atomic::AtomicBool>::default();
        Self {
            machines: SLOTS.map(|name| Arc::new(Machine::new(name, clock.clone(), harmed.clone()))),
            world: World::new(executor, trial.workload.topics()),
            trial: trial.clone(),
            commit_interval: plan.commit_interval,
            restore_batch: plan.restore_batch,
            panics: plan.panics,
            diary: Diary::default(),
            slots: [(); SLOTS.len()].map(|()| Slot::default()),
            started: 0,
        }
    }

    pub(super) fn clock(&self) -> SimClock {
        self.world.clock()
    }

    /// The state directory of a slot.
    pub(super) fn directory(&self, slot: usize) -> PathBuf {
        self.world.directory.path().join(SLOTS[slot])
    }

    /// The instance of a slot, if it is up and not on its way down.
    pub(super) fn instance(&self, slot: usize) -> Option<&Instance> {
        let instance = self.slots[slot].instance.as_ref();
        instance.filter(|_| !self.slots[slot].again)
    }

    /// Whether nothing is left of the slot's instance.
    pub(super) fn is_down(&self, slot: usize) -> bool {
        self.slots[slot].instance.is_none()
    }

    pub(super) fn all_down(&self) -> bool {
        (0..SLOTS.len()).all(|slot| self.is_down(slot))
    }

    /// Starts an instance, or has it started as soon as the one before is down; false: it is up.
    pub(super) fn start(&mut self, slot: usize) -> bool {
        if let Some(instance) = &self.slots[slot].instance {
            let ends = !matches!(
                instance.running.status().state,
                RunState::Starting | RunState::Running | RunState::Restoring
            );
            self.slots[slot].again |= ends;
            return ends;
        }
        self.started += 1;
        let stand = Stand {
            instance: self.started,
            mode: self.trial.mode,
            clock: self.clock(),
            diary: self.diary.clone(),
            panics: self.panics,
        };
        let factories = self.trial.workload.factories(&stand);
        let instance = self.world.start_app(self.settings(slot), factories);
        self.slots[slot].instance = Some(instance);
        true
    }

    fn settings(&self, slot: usize) -> Settings {
        let mut settings = self.world.settings(SLOTS[slot]);
        settings.store.host = Some(self.machines[slot].clone());
        settings.sabotage = self.trial.planted;
        settings.commit_interval = self.commit_interval;
        settings.restore_batch = self.restore_batch;
        if self.trial.mode == Mode::ExactlyOnce {
            let timeout = Duration::from_millis(1500);
            settings.transactions = Some(Transactions { timeout });
        }
        if self.panics {
            settings.task.policies.panic = Policy::Retry(Retry {
                attempts: 100,
                backoff: Duration::from_millis(1),
                ..Retry::default()
            });
        }
        self.trial.workload.settings(&mut settings);
        settings
    }

    /// The process dies.
    pub(super) fn crash(&mut self, slot: usize) {
        if let Some(instance) = self.slots[slot].instance.take() {
            self.world.crash(&instance);
        }
        self.slots[slot].again = false;
        self.slots[slot].frozen = None;
    }

    /// The process stands still for a while.
    pub(super) fn freeze(&mut self, slot: usize, time: Duration) {
        let until = self.clock().now() + time;
        let one = &mut self.slots[slot];
        if let Some(instance) = &one.instance {
            self.world.freeze(instance);
            one.frozen = one.frozen.max(Some(until));
            // So that time goes on if nobody else is there.
            self.clock().schedule(until, || {});
        }
    }

    /// Those go on whose time it is.
    pub(super) fn thaw(&mut self) {
        let now = self.clock().now();
        for slot in &mut self.slots {
            if slot.frozen.take_if(|until| *until <= now).is_some()
                && let Some(instance) = &slot.instance
            {
                self.world.thaw(instance);
            }
        }
    }

    /// What goes on for a while ends.
    pub(super) fn calm_down(&self) {
        self.clock().calm_down();
        self.machines.iter().for_each(|machine| machine.is_well());
    }

    pub(super) fn machine(&self, slot: usize) -> &Machine {
        &self.machines[slot]
    }

    /// The state directories change places. Whether nobody has them open.
    pub(super) fn swap_state(&self) -> bool {
        let root = self.world.directory.path();
        let [a, b] = SLOTS.map(|name| root.join(name));
        let aside = root.join("aside");
        let moved = self.all_down() && std::fs::rename(&a, &aside).is_ok();
        if moved {
            // The other one may have none.
            let _ = std::fs::rename(&b, &a);
            std::fs::rename(aside, b).unwrap();
        }
        moved
    }

    /// Copies a state directory, or puts the copy back, if there is one.
    pub(super) fn backup(&self, slot: usize) -> bool {
        let (directory, copy) = (
            self.directory(slot),
            self.world
                .directory
                .path()
                .join(format!("copy of {}", SLOTS[slot])),
        );
        if machine::copy(&copy, &directory) {
            std::fs::remove_dir_all(copy).unwrap();
            return true;
        }
        machine::copy(&directory, &copy)
    }

    /// Asks all that are up to stop.
    pub(super) fn stop_all(&mut self) {
        for slot in &mut self.slots {
            slot.again = false;
            if let Some(instance) = &slot.instance {
                instance.running.shutdown(Duration::from_secs(20));
            }
        }
    }

    /// Notices which instances have ended, and how.
    pub(super) fn take_ended(&mut self) -> Vec<(usize, Result<(), RunError>)> {
        let mut ended = Vec::new();
        for slot in 0..SLOTS.len() {
            let gone = |instance: &mut Instance| self.world.executor.alive(instance.crew) == 0;
            if let Some(instance) = self.slots[slot].instance.take_if(gone) {
                let outcome = self.world.executor.run_until(instance.running.wait());
                ended.push((slot, outcome.unwrap_or(Err(RunError::Stopped))));
                if std::mem::take(&mut self.slots[slot].again) {
                    self.start(slot);
                }
            }
        }
        ended
    }

    /// Whether the cluster, too, takes the instance that processed a record for the owner of its partition.
    pub(super) fn owns(&self, line: &Line) -> bool {
        let place = TopicPartition::new(line.topic, line.partition);
        let owner = self.world.cluster.owner(APP, &place);
        let mut up = self.slots.iter().filter_map(|slot| slot.instance.as_ref());
        up.find(|instance| instance.crew.0 == line.instance)
            .is_none_or(|instance| owner == Some(instance.connection.number()))
    }
}
