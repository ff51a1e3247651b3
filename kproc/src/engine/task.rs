//! A task: what it is made of, and what whoever runs it asks of it.

use std::{any::Any, sync::Arc, time::Duration};

use kproc_store::Marks;

use super::{
    Attached, Carry, Counters, Factory, Failure, Pause, Progress, Rest, TaskCommit, TaskSettings,
    desk::{Desk, Turn},
    inputs::Inputs,
    stream_time,
    stretch::{Broken, End, Plan, Stretch, Tools, What},
    unit::AnyUnit,
};
use crate::{
    batch::Batch,
    clock::Clock,
    context::{TaskId, UnitTraits, Workbench},
    mark::Mark,
    outbox::Outbox,
    record::{Offset, Partition, Timestamp},
    timer::{Timers, period_millis},
    topology::Topology,
};

/// A stretch is at most this many records long. Between stretches the task looks at the clock, and at how much
/// its stores hold.
const LONGEST: usize = 1024;

/// Who sleeps until a wall-clock timer is due looks again after this long at the latest: the wall clock may have
/// been set forward, or the machine suspended.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// A task: processors, inputs, timers, outbox. `Send`: at rest it may move to another thread.
///
/// In all its methods an *input* is a number into the group's `inputs` of the [`Topology`], a *processor* a
/// number into the topology's `processors`, a *store* a number into the processor's `stores`.
pub(crate) struct Task {
    pub(super) topology: Arc<Topology>,
    /// The processors' numbers in the topology; a *unit* is a number into this and `units`.
    pub(super) processors: Vec<usize>,
    pub(super) units: Vec<Box<dyn AnyUnit>>,
    pub(super) inputs: Inputs,
    pub(super) work: Workbench,
    pub(super) marks: Arc<Marks>,
    pub(super) settings: TaskSettings,
    pub(super) plan: Plan,
    pub(super) carry: Carry,
    pub(super) counters: Counters,
    progress: Progress,
    /// What was owed when the last commits were made, until the task starts.
    pub(super) owed: Vec<Mark>,
    /// Whether something has happened since the last commit, besides what buffers hold.
    pub(super) touched: bool,
    /// Monotonic time, as of the last look.
    pub(super) now: Duration,
}

impl Task {
    /// A task of the topology's group with this number, its processors made by their `factories` and its stores not open
    /// yet: [`Task::attach`] every one,
    /// [`Task::restore_time`], then [`Task::start`]. `carry` is the default, or after a fall-back what
    /// [`Task::take_carry`] gave.
    pub(crate) fn new(
        topology: &Arc<Topology>,
        factories: &[Factory],
        group: usize,
        partition: Partition,
        settings: &TaskSettings,
        carry: Carry,
    ) -> Self {
        let task = TaskId { group, partition };
        let group = &topology.groups[group];
        let specs = || {
            group
                .processors
                .iter()
                .map(|processor| &topology.processors[*processor])
        };
        let mut timers = Timers::default();
        for (unit, spec) in specs().enumerate() {
            for timer in &spec.timers {
                if let Ok(period) = period_millis(timer.period) {
                    timers.declare(unit, timer.number, period, timer.clock);
                }
            }
        }
        let processors = group.processors.iter();
        let units: Vec<_> = processors.map(|processor| factories[*processor]()).collect();
        let mut plan = Plan::default();
        plan.again(&carry);
        let work = Workbench {
            task,
            outbox: Outbox::with_bindings(topology.bindings.clone()),
            timers,
            stream_time: None,
            wall_time: Timestamp::EPOCH,
            commit_requested: false,
            units: specs()
                .map(|spec| UnitTraits {
                    name: spec.name.to_string(),
                    scheduled: spec.scheduled,
                    hears_stream_time: spec.hears_stream_time,
                })
                .collect(),
            unit: 0,
            timestamp: None,
        };
        Self {
            topology: topology.clone(),
            processors: group.processors.clone(),
            inputs: Inputs::new(topology, group, settings.max_task_idle),
            plan,
            units,
            work,
            marks: Arc::default(),
            settings: settings.clone(),
            carry,
            counters: Counters::default(),
            progress: Progress::default(),
            owed: Vec::new(),
            touched: false,
            now: Duration::ZERO,
        }
    }

    /// To be shared by all buffers of the task.
    pub(crate) fn marks(&self) -> &Arc<Marks> {
        &self.marks
    }

    /// How far it is, for whoever watches it.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Opens a store.
    pub(crate) fn attach(&mut self, attached: Attached) {
        let Attached {
            processor,
            store,
            buffer,
        } = attached;
        let mut buffer = Some(buffer);
        if let Some(unit) = self.processors.iter().position(|mine| *mine == processor) {
            self.units[unit].stores(&mut |number, open| {
                if number == store
                    && let Some(buffer) = buffer.take()
                {
                    open.attach(buffer);
                }
            });
        }
        debug_assert!(
            buffer.is_none(),
            "the task has no store {store} of processor {processor}"
        );
    }

    /// Closes all open stores and gives their buffers back, ordered by processor and store: to commit them
    /// (then [`Task::attach`] them again) or to close their environments.
    pub(crate) fn detach(&mut self) -> Vec<Attached> {
        let mut all = Vec::new();
        for (unit, &processor) in self.units.iter_mut().zip(&self.processors) {
            unit.stores(&mut |store, open| {
                all.extend(open.detach().map(|buffer| Attached {
                    processor,
                    store,
                    buffer,
                }));
            });
        }
        all
    }

    /// A store in whose field the program has put another one: processor, store. What was written to it is lost, so
    /// nothing of the task may be committed.
    pub(crate) fn replaced_store(&mut self) -> Option<(usize, usize)> {
        let Self {
            topology,
            units,
            processors,
            ..
        } = self;
        let mut replaced = None;
        for (unit, &processor) in units.iter_mut().zip(&*processors) {
            unit.stores(&mut |number, store| {
                let name = &topology.processors[processor].stores[number].0.name;
                if store.buffer().is_none_or(|buffer| buffer.name() != name) {
                    replaced.get_or_insert((processor, number));
                }
            });
        }
        replaced
    }

    /// Runs `#[on_start]` of every processor.
    pub(crate) async fn start(&mut self, clock: &dyn Clock) -> Result<(), Failure> {
        self.look(clock);
        self.work.begin_timers();
        self.take_up_owed();
        self.all(Turn::Start, What::Start).await
    }

    /// Whether an input has no buffered record and could use a batch.
    pub(crate) fn wants(&self, input: usize) -> bool {
        self.inputs.buffered(input) == 0
    }

    /// Gives an input its next records.
    pub(crate) fn feed(&mut self, input: usize, batch: Batch) {
        self.inputs.feed(input, batch);
    }

    /// What the input's queue knows: where it has read to, and where the partition ends (KIP-695). An input of
    /// which nothing is known yet (`None`) may have records, so it holds the others back: call this for each
    /// input after each look into its queue, whether it gave a batch or not.
    pub(crate) fn known(&mut self, input: usize, position: Option<Offset>, end: Option<Offset>) {
        self.inputs.known(input, position, end);
    }

    /// Processes until nothing can be done without more records or time, or until asked to rest, or until
    /// outbox and overlays together hold more than `budget` bytes. Then at rest: between two records.
    ///
    /// After a [`Failure`] the task is at rest, too, with the effects of what failed undone: what was done
    /// before can be committed, unless the failure asks for a fall-back.
    ///
    /// Not cancel-safe: a task whose `run` was dropped can only be dropped.
    pub(crate) async fn run(
        &mut self,
        rest: &Rest,
        budget: usize,
        clock: &dyn Clock,
    ) -> Result<Pause, Failure> {
        let mut overlays = self.overlay_bytes();
        let mut limit = LONGEST;
        loop {
            self.look(clock);
            if rest.asked() {
                return Ok(Pause::Asked);
            }
            if self.backing_off().is_some() {
                return Ok(Pause::Starved);
            }
            let done = self.counters.records;
            let room = budget.saturating_sub(overlays);
            let ended = self.stretch(limit, room, rest).await;
            let ended = match ended {
                Ok(end) => end,
                Err(broken) => {
                    self.recover(*broken)?;
                    End::Long
                }
            };
            if let End::Pause(pause) = ended {
                return Ok(pause);
            }
            let before = std::mem::replace(&mut overlays, self.overlay_bytes());
            if overlays.saturating_add(self.work.outbox.bytes()) > budget {
                return Ok(Pause::Full);
            }
            // If the records to come are like these, the next stretch uses half of what is left at most.
            let records = usize::try_from(self.counters.records - done).unwrap_or(LONGEST);
            let growth = overlays.saturating_sub(before) / records.max(1);
            limit = ((budget - overlays) / 2)
                .checked_div(growth)
                .unwrap_or(LONGEST)
                .clamp(1, LONGEST);
        }
    }

    /// When `run` has something to do even without records (monotonic): a timer, the end of an idle wait or
    /// of a back-off.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        if let Some(due) = self.backing_off() {
            return Some(due);
        }
        let timer = self.work.timers.next_wall().map(|due| {
            let sleep = due.since(self.work.wall_time).min(LONGEST_SLEEP);
            self.now.saturating_add(sleep)
        });
        [timer, self.inputs.idle_until()].into_iter().flatten().min()
    }

    /// Whether a handler asked for a commit since the last [`Task::prepare_commit`].
    pub(crate) fn commit_requested(&self) -> bool {
        self.work.commit_requested
    }

    /// What waits to be produced.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        &mut self.work.outbox
    }

    /// Puts the changelog records of all buffers into the outbox, and says what is to be committed. `None`:
    /// nothing has happened since the last commit.
    ///
    /// # Panics
    /// If the changelog records do not fit into an outbox, which takes a budget of more than
    /// [`Outbox::MAX_BYTES`].
    pub(crate) fn prepare_commit(&mut self) -> Option<TaskCommit> {
        let Self {
            topology,
            units,
            processors,
            work,
            ..
        } = self;
        let mut dirty = false;
        let partition = work.task.partition;
        for (unit, &processor) in units.iter_mut().zip(&*processors) {
            unit.stores(&mut |number, store| {
                let Some(buffer) = store.buffer().filter(|buffer| buffer.is_dirty()) else {
                    return;
                };
                dirty = true;
                if topology.processors[processor].stores[number].1.changelog {
                    let topic = work.outbox.changelog(&topology.changelog(processor, number));
                    buffer.dirty(&mut |key, value| {
                        let pushed = work.outbox.push_changelog(topic, partition, key, value);
                        assert!(
                            pushed.is_ok(),
                            "the changelog of one commit is larger than an outbox"
                        );
                    });
                }
            });
        }
        let happened = dirty | self.touched | self.work.commit_requested | !self.work.outbox.is_empty();
        (self.touched, self.work.commit_requested) = (false, false);
        happened.then(|| TaskCommit {
            inputs: self
                .inputs
                .iter()
                .enumerate()
                .filter_map(|(number, input)| Some((number, input.next?)))
                .collect(),
            ..self.unchanged()
        })
    }

    /// A commit of nothing but stream time.
    pub(crate) fn unchanged(&self) -> TaskCommit {
        TaskCommit {
            inputs: Vec::new(),
            metadata: stream_time::encode(self.work.stream_time, &self.owed()),
        }
    }

    /// At its next run, the task fires every wall-clock timer once, whether due or not: for the end of a run
    /// that ends with its input.
    pub(crate) fn fire_wall_timers(&mut self) {
        let all = self.work.timers.all_wall();
        self.plan.firings.extend(all);
    }

    /// Whether timers that are to fire, whether due or not, have not, or a unit has not heard of an advance of stream time: a
    /// turn that failed is to be tried again.
    pub(crate) fn owes_firings(&self) -> bool {
        !self.plan.firings.is_empty() || !self.plan.unheard.is_empty()
    }

    /// Advances stream time, if there is one, as a record would that no handler takes. What follows from it
    /// happens at the next run.
    pub(crate) fn advance_stream_time(&mut self, by: Duration) {
        if let Some(time) = &mut self.work.stream_time {
            *time = time.saturating_add(by);
            self.plan.advances(&self.work.units);
            self.touched = true;
        }
    }

    /// Runs `#[on_stop]` of every processor. What is sent and stored there is still to be committed.
    pub(crate) async fn stop(&mut self, clock: &dyn Clock) -> Result<(), Failure> {
        self.look(clock);
        self.all(Turn::Stop, What::Stop).await
    }

    /// What a fall-back must not forget: records to be passed over, attempts made.
    pub(crate) fn take_carry(&mut self) -> Carry {
        std::mem::take(&mut self.carry)
    }

    /// What it has counted.
    #[cfg_attr(not(test), expect(dead_code, reason = "no status shows it yet"))]
    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// A processor, for tests that look into it.
    pub(crate) fn processor(&self, processor: usize) -> Option<&(dyn Any + Send)> {
        let unit = self.processors.iter().position(|mine| *mine == processor)?;
        Some(self.units[unit].any())
    }

    /// Looks at the clock.
    fn look(&mut self, clock: &dyn Clock) {
        self.now = clock.now();
        self.work.wall_time = clock.wall();
        self.work.timers.wall_shows(self.work.wall_time);
        if let Some(ahead) = self.settings.max_ahead {
            self.inputs.set_horizon(self.work.wall_time.saturating_add(ahead));
        }
    }

    /// Until when the task waits before it tries again.
    fn backing_off(&self) -> Option<Duration> {
        let due = self.carry.retrying.iter().map(|retrying| retrying.due).max();
        due.filter(|due| self.now < *due)
    }

    fn overlay_bytes(&mut self) -> usize {
        let mut bytes = 0_usize;
        for unit in &mut self.units {
            unit.stores(&mut |_, store| bytes += store.buffer().map_or(0, |buffer| buffer.overlay_bytes()));
        }
        bytes
    }

    async fn all(&mut self, turn: Turn, what: What) -> Result<(), Failure> {
        let ended = {
            let (desk, units, tools) = self.lay_out();
            Stretch::new(&desk, units, tools).all(turn, what).await
        };
        match ended {
            Ok(()) => Ok(()),
            Err(broken) => self.recover(*broken),
        }
    }

    async fn stretch(&mut self, limit: usize, room: usize, rest: &Rest) -> Result<End, Box<Broken>> {
        let (desk, units, tools) = self.lay_out();
        Stretch::new(&desk, units, tools).records(limit, room, rest).await
    }

    fn lay_out(&mut self) -> (Desk<'_>, &mut [Box<dyn AnyUnit>], Tools<'_>) {
        let tools = Tools {
            marks: &self.marks,
            plan: &mut self.plan,
            carry: &mut self.carry,
            counters: &mut self.counters,
            progress: &self.progress,
            settings: &self.settings,
            now: self.now,
            touched: &mut self.touched,
        };
        (
            Desk::new(&mut self.inputs, &mut self.work),
            &mut self.units,
            tools,
        )
    }
}
