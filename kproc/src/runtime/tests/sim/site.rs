//! Where a trial takes place: a cluster, and slots in which instances come and go, each with a state directory.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use super::{
    super::kit::{APP, Instance, World},
    chance::Chance,
    ending,
    event::Kind,
    harm::Harm,
    machine::{self, Machine},
    plan::Plan,
    trial::Trial,
    workload::{Diary, Line, Mode, Stand, Verdict},
};
use crate::{
    Clock, Partition, Policy, Retry, TopicPartition,
    cluster::CommittedOffset,
    runtime::{RunError, RunState, Settings, Transactions},
    testing::{
        clock::SimClock,
        exec::{Crew, Executor},
    },
};

/// The slots, by the names of their directories.
pub(super) const SLOTS: [&str; 2] = ["a", "b"];

/// How long a stop may take that is no event.
const LAST_STOP: Duration = Duration::from_secs(20);
/// What comes after a deadline: a task that does not end by itself is dropped, and then others hear of it.
const A_MOMENT: Duration = Duration::from_millis(500);

/// How long a session lasts.
const SESSION: Duration = Duration::from_secs(1);

/// What is counted of one that goes on after it has stood still; it may have been for longer than a session, or than a
/// transaction, too.
pub(super) const THAWS: &str = "it goes on";
pub(super) const THAWS_LATE: &str = "it goes on after its session";
pub(super) const THAWS_TIMED_OUT: &str = "it goes on after its session and its transactions' time-out";
/// The group has lost offsets.
pub(super) const OFFSETS_LOST: &str = "offsets are lost";
/// One that has failed is started again, as by a supervisor.
pub(super) const STARTS_AGAIN: &str = "started again after a failure";

/// The slot of an instance that has ended, and how it has.
type Ended = (usize, Result<(), RunError>);

/// See the module.
pub(super) struct Site {
    pub(super) world: World,
    trial: Trial,
    commit_interval: Duration,
    transaction_timeout: Duration,
    restore_batch: usize,
    checksum: bool,
    /// How long it takes until an instance that has failed is started again, if it is.
    supervised: Option<Duration>,
    panics: Option<u64>,
    pub(super) diary: Diary,
    slots: [Slot; SLOTS.len()],
    machines: [Arc<Machine>; SLOTS.len()],
    started: u64,
    by_stream: Arc<AtomicU64>,
    /// By how many minutes the wall clock was set back, all in all.
    pub(super) set_back: i64,
    /// Nothing happens to state that would be a reason to begin it anew.
    state_is_safe: bool,
    /// What was found to be wrong, and is not told yet.
    wrong: Option<String>,
}

/// What is in a slot.
#[derive(Default)]
struct Slot {
    instance: Option<Instance>,
    /// It is to be started again as soon as it is down.
    again: bool,
    /// It is to be started then.
    start_at: Option<Duration>,
    /// It is to be started so long after it is down.
    start_later: Option<Duration>,
    /// It stands still, from when until when.
    frozen: Option<(Duration, Duration)>,
    /// The instance has stood still: how long it takes to stop says nothing.
    stood_still: bool,
    /// When it must be down, if it was asked to stop.
    due: Option<Duration>,
    /// The environments that the directory had when an instance was down last, and which files they were.
    files: BTreeMap<PathBuf, File>,
}

/// What tells a file from another one of its name.
type File = (u64, Option<SystemTime>);

/// The data files of the environments in there.
fn files(directory: &Path) -> BTreeMap<PathBuf, File> {
    let mut files = BTreeMap::new();
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    for processor in entries(directory) {
        for partition in entries(&processor.path()) {
            if let Ok(data) = fs::metadata(partition.path().join("data.mdb")) {
                files.insert(partition.path(), (data.ino(), data.created().ok()));
            }
        }
    }
    files
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
            transaction_timeout: plan.transaction_timeout,
            restore_batch: plan.restore_batch,
            checksum: plan.checksum,
            supervised: plan.supervised,
            panics: plan.panics,
            diary: Diary::default(),
            slots: [(); SLOTS.len()].map(|()| Slot::default()),
            started: 0,
            by_stream: Arc::default(),
            set_back: 0,
            state_is_safe: plan.kinds().all(Kind::spares_state),
            wrong: None,
        }
    }

    /// How many timers of stream time have fired.
    pub(super) fn fired_by_stream(&self) -> u64 {
        self.by_stream.load(Relaxed)
    }

    /// The group loses the offsets of some partitions, if all states of these know them. What they were. (At least once, and
    /// where state may have come to harm, a person would have to say where it was; and so if only some inputs of a task are
    /// forgotten.)
    pub(super) fn forget_offsets(&self, chance: &mut Chance) -> Vec<(TopicPartition, CommittedOffset)> {
        if !self.state_is_safe || self.trial.mode != Mode::ExactlyOnce {
            return Vec::new();
        }
        let directories: Vec<PathBuf> = (0..SLOTS.len())
            .map(|slot| self.directory(slot).join(APP))
            .collect();
        let cluster = &self.world.cluster;
        let mut offsets = cluster.offsets(APP);
        let unknown: BTreeSet<Partition> = offsets
            .iter()
            .filter(|(place, offset)| !ending::is_known_to_states(&directories, place, offset))
            .map(|(place, _)| place.partition)
            .collect();
        let kept = chance.next();
        offsets.retain(|(place, _)| {
            let number = place.partition;
            !unknown.contains(&number) && kept >> (number.get() % 64) & 1 == 0
        });
        for (place, _) in &offsets {
            cluster.forget(APP, place);
        }
        if !offsets.is_empty() {
            self.clock().happens_to(None, OFFSETS_LOST);
        }
        offsets
    }

    /// A person sets those that the group still does not know.
    pub(super) fn set_offsets(&self, lost: &[(TopicPartition, CommittedOffset)]) {
        let known = self.world.cluster.offsets(APP);
        for (place, offset) in lost {
            if !known.iter().any(|(other, _)| other == place) {
                self.world.cluster.commit(APP, place.clone(), offset.clone());
            }
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
            by_stream: self.by_stream.clone(),
        };
        let factories = self.trial.workload.factories(&stand);
        let instance = self.world.start_app(self.settings(slot), factories);
        self.slots[slot].instance = Some(instance);
        self.slots[slot].stood_still = false;
        self.slots[slot].start_at = None;
        true
    }

    fn settings(&self, slot: usize) -> Settings {
        let mut settings = self.world.settings(SLOTS[slot]);
        settings.session_timeout = SESSION;
        settings.store.host = Some(self.machines[slot].clone());
        settings.sabotage = self.trial.planted;
        settings.commit_interval = self.commit_interval;
        settings.restore_batch = self.restore_batch;
        settings.store.checksum = self.checksum;
        if self.trial.mode == Mode::ExactlyOnce {
            let timeout = self.transaction_timeout;
            settings.transactions = Some(Transactions { timeout });
        }
        if self.panics.is_some() {
            let after = |millis| {
                Policy::Retry(Retry {
                    attempts: 100,
                    backoff: Duration::from_millis(millis),
                    ..Retry::default()
                })
            };
            settings.task.policies.panic = after(1);
            // Long enough for a commit to come before.
            settings.task.policies.processing = after(50);
        }
        self.trial.workload.settings(&mut settings);
        settings
    }

    /// Asks an instance to stop in good order.
    pub(super) fn stop(&mut self, slot: usize, within: Duration) {
        let due = self.clock().now() + within + A_MOMENT;
        let slot = &mut self.slots[slot];
        slot.again = false;
        if let Some(instance) = &slot.instance {
            instance.running.shutdown(within);
            let due = slot.due.map_or(due, |before| before.min(due));
            slot.due = (!slot.stood_still).then_some(due);
        }
    }

    /// The process dies.
    pub(super) fn crash(&mut self, slot: usize) {
        if let Some(instance) = self.slots[slot].instance.take() {
            self.world.crash(&instance);
            self.look_at_state(slot);
        }
        let slot = &mut self.slots[slot];
        (slot.again, slot.due, slot.frozen) = (false, None, None);
        slot.start_later = None;
    }

    /// The process stands still for a while.
    pub(super) fn freeze(&mut self, slot: usize, time: Duration) {
        let now = self.clock().now();
        let until = now + time;
        let one = &mut self.slots[slot];
        if let Some(instance) = &one.instance {
            self.world.freeze(instance);
            (one.due, one.stood_still) = (None, true);
            let (since, before) = one.frozen.unwrap_or((now, until));
            one.frozen = Some((since, before.max(until)));
            // So that time goes on if nobody else is there.
            self.clock().schedule(until, || {});
        }
    }

    /// Those go on whose time it is.
    pub(super) fn thaw(&mut self) {
        let clock = self.clock();
        let now = clock.now();
        for slot in &mut self.slots {
            if let Some((since, _)) = slot.frozen.take_if(|(_, until)| *until <= now)
                && let Some(instance) = &slot.instance
            {
                let still = now.saturating_sub(since);
                for (what, limit) in [
                    (THAWS, Duration::ZERO),
                    (THAWS_LATE, SESSION),
                    (THAWS_TIMED_OUT, self.transaction_timeout.max(SESSION)),
                ] {
                    if still > limit {
                        clock.happens_to(Some(instance.crew), what);
                    }
                }
                self.world.thaw(instance);
            }
        }
    }

    /// Those that have failed are started again when it is time.
    pub(super) fn supervise(&mut self) {
        let now = self.clock().now();
        for slot in 0..SLOTS.len() {
            if self.slots[slot].start_at.take_if(|at| *at <= now).is_some() {
                self.clock().happens_to(None, STARTS_AGAIN);
                self.start(slot);
            }
        }
    }

    /// Whoever is down then is started.
    fn start_at(&mut self, slot: usize, at: Duration) {
        self.slots[slot].start_at = Some(at);
        self.clock().schedule(at, || {});
    }

    /// An instance is started so long after it is down.
    pub(super) fn start_later(&mut self, slot: usize, wait: Duration) {
        if self.is_down(slot) {
            self.start_at(slot, self.clock().now() + wait);
        } else {
            self.slots[slot].start_later = Some(wait);
        }
    }

    /// In which slot an instance is, if anything is left of it.
    pub(super) fn slot_of(&self, crew: Crew) -> Option<usize> {
        let mut slots = self.slots.iter().map(|slot| slot.instance.as_ref());
        slots.position(|instance| instance.is_some_and(|instance| instance.crew == crew))
    }

    /// Nobody looks after instances that fail any more.
    pub(super) fn leave_alone(&mut self) {
        self.supervised = None;
        for slot in &mut self.slots {
            (slot.start_at, slot.start_later) = (None, None);
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

    /// The state of an instance that is down comes to harm. Whether there was anything to be harmed.
    pub(super) fn harm(&self, slot: usize, harm: Harm) -> bool {
        let nobody_would_know = matches!(harm, Harm::ValueFlipped(_)) && !self.checksum;
        !nobody_would_know && self.machines[slot].harm(harm, &self.directory(slot))
    }

    /// The state directories change places. Whether nobody has them open.
    pub(super) fn swap_state(&self) -> bool {
        let root = self.world.directory.path();
        let [a, b] = SLOTS.map(|name| root.join(name));
        let aside = root.join("aside");
        let moved = self.all_down() && fs::rename(&a, &aside).is_ok();
        if moved {
            // The other one may have none.
            let _ = fs::rename(&b, &a);
            fs::rename(aside, b).unwrap();
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
            fs::remove_dir_all(copy).unwrap();
            return true;
        }
        machine::copy(&directory, &copy)
    }

    /// Asks all that are up to stop.
    pub(super) fn stop_all(&mut self) {
        (0..SLOTS.len()).for_each(|slot| self.stop(slot, LAST_STOP));
    }

    /// Notices which instances have ended, and how; starts those that are to come back.
    pub(super) fn take_ended(&mut self) -> Result<Vec<Ended>, String> {
        let mut ended = Vec::new();
        let now = self.clock().now();
        for (slot, name) in SLOTS.iter().enumerate() {
            let Some(instance) = &self.slots[slot].instance else {
                continue;
            };
            if self.world.executor.alive(instance.crew) > 0 {
                if self.slots[slot].due.is_none_or(|due| now <= due) {
                    continue;
                }
                if instance.running.status().state != RunState::Failed {
                    return Err(format!("{name} does not stop in time"));
                }
                // It has said that it was not done in time, and `main` has returned: what still waits for an answer of
                // the cluster ends with the process.
            }
            let Some(instance) = self.slots[slot].instance.take() else {
                continue;
            };
            self.world.crash(&instance);
            let was_asked = self.slots[slot].due.take().is_some();
            self.look_at_state(slot);
            let outcome = self.world.executor.run_until(instance.running.wait());
            let outcome = outcome.unwrap_or(Err(RunError::Stopped));
            let later = self.slots[slot].start_later.take();
            let supervised = self.supervised.filter(|_| outcome.is_err() && !was_asked);
            if std::mem::take(&mut self.slots[slot].again) {
                self.start(slot);
            } else if let Some(wait) = later.or(supervised) {
                self.start_at(slot, now + wait);
            }
            ended.push((slot, outcome));
        }
        self.wrong.take().map_or(Ok(ended), Err)
    }

    /// Good state is never begun anew. Called whenever an instance is down.
    fn look_at_state(&mut self, slot: usize) {
        let now = files(&self.directory(slot).join(APP));
        let before = &self.slots[slot].files;
        let is_new =
            |(path, file): &(&PathBuf, &File)| before.get(*path).is_some_and(|before| before != *file);
        if self.state_is_safe
            && let Some((path, _)) = now.iter().find(is_new)
        {
            let path = path.strip_prefix(self.world.directory.path()).unwrap_or(path);
            self.wrong = Some(format!("the state in {} was begun anew", path.display()));
        }
        self.slots[slot].files = now;
    }

    /// The state of an instance that is down is gone; false: it had none, for it died before.
    pub(super) fn lose_state(&mut self, slot: usize) -> bool {
        self.slots[slot].files.clear();
        fs::remove_dir_all(self.directory(slot)).is_ok()
    }

    /// Nobody gives a partition back while somebody of the same instance still has its task, and may commit it.
    pub(super) fn nothing_is_released_early(&self) -> Verdict {
        let up = SLOTS.iter().zip(&self.slots);
        for (name, slot) in up {
            let early = slot
                .instance
                .as_ref()
                .and_then(|instance| instance.running.released_early());
            if let Some(task) = early {
                return Err(format!(
                    "{name} has released the partition of task {task} while it still had the task"
                ));
            }
        }
        Ok(())
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
