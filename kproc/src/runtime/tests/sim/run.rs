//! A trial's run: what its plan says happens, every step is judged, and in the end somebody finishes the work.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    chance::Chance,
    ending,
    event::{Kind, happen},
    observer::Observer,
    plan::Plan,
    site::{SLOTS, Site},
    trial::Trial,
    workload::{End, Judge, Mode, Verdict, Write},
};
use crate::{
    Clock, TopicPartition,
    cluster::CommittedOffset,
    outbox::{Outbox, RawRecord},
    runtime::RunError,
    testing::{
        coverage::Meeting,
        exec::{Crew, Executor},
        mishaps::{Mishap, Mishaps},
    },
};

/// How a trial went.
pub(super) struct Course {
    pub(super) verdict: Verdict,
    /// The numbers of all events that were to happen.
    pub(super) planned: BTreeSet<u64>,
    /// Those that found something to happen to.
    pub(super) events: Vec<Happened>,
    /// How many records were written.
    pub(super) written: usize,
    pub(super) mishaps: Vec<Mishap>,
    pub(super) steps: u64,
    pub(super) time: Duration,
    pub(super) processed: usize,
    pub(super) trace: Vec<u8>,
    /// How often what has come in the middle of what.
    pub(super) meetings: BTreeMap<Meeting, u64>,
}

/// An event that has happened.
#[derive(Debug, Clone)]
pub(super) struct Happened {
    pub(super) number: u64,
    pub(super) kind: Kind,
    pub(super) at: Duration,
    pub(super) what: String,
}

/// What takes longer than this, in virtual time, never comes.
const NEVER: Duration = Duration::from_secs(3600);
/// No more values than this can be damaged: each event does that to one value of each task.
const MOST_DAMAGES: u32 = 200;
/// What goes on for so long is more than a little.
const A_LITTLE: Duration = Duration::from_millis(50);
/// The subject of the chances that offsets are lost.
const OFFSETS: u64 = 3;
/// The crew of what a trial itself waits for.
const JUDGES: Crew = Crew(u64::MAX);

/// Lets a trial happen.
pub(super) fn run(trial: &Trial) -> Course {
    run_on(Executor::new(trial.seed), trial)
}

/// Lets a trial happen on this executor.
pub(super) fn run_on(executor: Executor, trial: &Trial) -> Course {
    let mut plan = Plan::new(trial.workload, trial.seed);
    if let Some(events) = &trial.events {
        plan.events.retain(|event| events.contains(&event.number));
    }
    plan.input.truncate(trial.writes.unwrap_or(usize::MAX));
    let site = Site::new(executor, trial, &plan);
    let mishaps = Mishaps::new(trial.seed, plan.requests, trial.mishaps.clone());
    let mut run = Run {
        judge: trial.workload.judge(trial.mode, &plan.input),
        observer: Observer::new(),
        clean: true,
        zombies: false,
        late: false,
        damages: 0,
        lost: Vec::new(),
        asked: 0,
        lines: 0,
        events: Vec::new(),
        mishaps: Vec::new(),
        site,
    };
    let verdict = catch_unwind(AssertUnwindSafe(|| run.all(trial, &plan, mishaps)));
    let verdict = verdict.unwrap_or_else(|panic| Err(format!("a panic: {}", text(&*panic))));
    run.end_mishaps();
    let executor = &run.site.world.executor;
    Course {
        verdict,
        steps: executor.steps(),
        time: run.site.clock().now(),
        processed: run.lines,
        planned: plan.events.iter().map(|event| event.number).collect(),
        written: plan.input.len(),
        trace: executor.trace(),
        meetings: run.site.clock().meetings(),
        events: run.events,
        mishaps: run.mishaps,
    }
}

fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}

/// Whether an instance has ended over a value that is not what was written.
fn tells_of_damage(error: &RunError) -> bool {
    error.to_string().contains("does not match its checksum")
}

/// Whether an instance has ended because nothing told it where it was.
fn tells_of_lost_offsets(error: &RunError) -> bool {
    error.to_string().contains("no committed offset any more")
}

struct Run {
    judge: Box<dyn Judge>,
    observer: Observer,
    /// Nothing has happened because of which anything may be done twice.
    clean: bool,
    /// Instances may have gone on with partitions that others have.
    zombies: bool,
    /// Records may have come late.
    late: bool,
    /// How many instances have ended over a value that is not what was written.
    damages: u32,
    /// The offsets that the group has lost.
    lost: Vec<(TopicPartition, CommittedOffset)>,
    /// How many instances have ended because nothing told them where they were.
    asked: u32,
    /// Lines of the diary that were judged.
    lines: usize,
    events: Vec<Happened>,
    mishaps: Vec<Mishap>,
    site: Site,
}

impl Run {
    fn all(&mut self, trial: &Trial, plan: &Plan, mishaps: Mishaps) -> Verdict {
        self.clean &= plan.requests.is_none();
        self.site.clock().set_mishaps(Some(mishaps));
        self.will_write(&plan.input);
        for event in &plan.events {
            // So that time stands still there, if nothing else happens.
            self.site.clock().schedule(event.at, || {});
            while self.site.clock().now() < event.at {
                self.step()?;
            }
            self.a_little_later(event.steps)?;
            if happen(event.kind, event.slot, &mut self.site) {
                self.clean &= event.kind.is_clean();
                self.zombies |= event.kind.makes_zombies();
                self.observer.compacted |= event.kind.compacts();
                self.late |= event.kind.delays_records();
                self.events.push(Happened {
                    number: event.number,
                    kind: event.kind,
                    at: self.site.clock().now(),
                    what: event.to_string(),
                });
            }
        }
        let last = plan.input.last().map_or(Duration::ZERO, |write| write.at);
        let last = last.max(self.site.clock().now()) + plan.rest;
        self.site.clock().schedule(last, || {});
        while self.site.clock().now() < last {
            self.step()?;
        }
        self.finish(trial, plan)
    }

    /// Those that are up may end; then others finish the work.
    fn finish(&mut self, trial: &Trial, plan: &Plan) -> Verdict {
        self.site.leave_alone();
        self.site.stop_all();
        self.until("all have stopped", Site::all_down)?;
        self.site.clock().spare_requests();
        self.site.calm_down();
        self.lost = self.site.forget_offsets(&mut Chance::of(trial.seed, OFFSETS));
        self.drain()?;
        self.end_mishaps();
        let fired = self.site.fired_by_stream();
        let enough = self.site.clock().now() + trial.workload.lingers();
        self.site.clock().schedule(enough, || {});
        self.until("some time has passed", |site| site.clock().now() >= enough)?;
        self.site.stop_all();
        self.until("those that have finished it have stopped", Site::all_down)?;
        let later = self.site.fired_by_stream() - fired;
        if later > 0 {
            return Err(format!(
                "all was processed, it was said, and {later} timers of stream time fired after that"
            ));
        }
        // The markers of the last transactions are still on their way.
        while self.step()? {}
        self.observer.look_again(&self.site.world.cluster)?;
        ending::all_is_committed(&self.observer, &plan.input)?;
        if trial.mode == Mode::ExactlyOnce || !self.late {
            for (slot, name) in SLOTS.iter().enumerate() {
                let directory = self.site.directory(slot);
                ending::state_is_right(&directory, &self.observer, self.site.machine(slot))
                    .map_err(|wrong| format!("{name}: {wrong}"))?;
            }
        }
        // In transactions, an instance that is stopped while it begins leaves a request behind, which fences the next one of
        // its state directory if it comes late. That costs a fall-back, and nothing else.
        if self.clean && trial.mode == Mode::AtLeastOnce {
            self.each_once(&plan.input)?;
        }
        self.judge.end(&End {
            tables: &self.observer.tables(),
            had_late_records: self.late,
        })
    }

    /// Instances process all that is left. They may have to be started again, for what has come to harm is found only when it
    /// is read; and of lost offsets a person is asked only where the state is elsewhere.
    fn drain(&mut self) -> Verdict {
        loop {
            let (found, asked) = (self.damages, self.asked);
            for slot in 0..SLOTS.len() {
                self.site.start(slot);
            }
            let drained = self.drained();
            self.until("all is processed", |_| drained.lock().unwrap().is_some())?;
            let drained = drained.lock().unwrap().take();
            let Some(Err(error)) = drained else {
                return Ok(());
            };
            self.until("what has failed is down", |site| site.is_down(0))?;
            if self.asked > asked {
                self.site.set_offsets(&self.lost);
                continue;
            }
            if self.damages == found || self.damages > MOST_DAMAGES || !self.site.machine(0).is_harmed() {
                return Err(format!("what is left cannot be processed: {error}"));
            }
        }
    }

    /// Records are written when it is time.
    fn will_write(&self, input: &[Write]) {
        for write in input {
            let (cluster, write) = (self.site.world.cluster.clone(), write.clone());
            self.site.clock().schedule(write.at, move || {
                let mut outbox = Outbox::default();
                let record = RawRecord {
                    partition: Some(crate::Partition::new(write.partition)),
                    timestamp: Some(write.timestamp),
                    key: write.key.as_deref(),
                    value: write.value.as_deref(),
                    ..RawRecord::default()
                };
                outbox.push_raw(&Arc::from(write.topic), &record);
                cluster.append(&mut outbox).unwrap();
            });
        }
    }

    /// One step, and a judgement. False: nothing can happen any more.
    fn step(&mut self) -> Result<bool, String> {
        self.site.thaw();
        self.site.supervise();
        let moves = self.site.world.executor.step();
        self.observer.look(&self.site.world.cluster, &mut *self.judge)?;
        for line in self.site.diary.since(self.lines) {
            self.lines += 1;
            if !self.zombies && self.clean && !self.site.owns(&line) {
                return Err(format!(
                    "instance {} has processed {line:?}, which is not its own",
                    line.instance
                ));
            }
        }
        for (slot, outcome) in self.site.take_ended()? {
            let Err(error) = outcome else { continue };
            self.damages += u32::from(tells_of_damage(&error));
            let asks = !self.lost.is_empty() && tells_of_lost_offsets(&error);
            self.asked += u32::from(asks);
            if self.clean && !asks {
                return Err(format!("the instance in {} has failed: {error}", SLOTS[slot]));
            }
        }
        Ok(moves)
    }

    /// So many polls later, if that much is going on.
    fn a_little_later(&mut self, polls: u64) -> Verdict {
        let (clock, executor) = (self.site.clock(), &self.site.world.executor);
        let (polls, at_most) = (executor.steps() + polls, clock.now() + A_LITTLE);
        while self.site.world.executor.steps() < polls && clock.now() < at_most && self.step()? {}
        Ok(())
    }

    fn until(&mut self, what: &str, mut so: impl FnMut(&Site) -> bool) -> Verdict {
        let limit = self.site.clock().now() + NEVER;
        while !so(&self.site) {
            if !self.step()? || self.site.clock().now() > limit {
                return Err(format!("it never comes to pass that {what}"));
            }
        }
        Ok(())
    }

    /// What comes of it when the first instance waits until everything is processed and committed.
    fn drained(&mut self) -> Arc<Mutex<Option<Result<(), RunError>>>> {
        let outcome = Arc::<Mutex<Option<Result<(), RunError>>>>::default();
        let drained = self.site.instance(0).map(|instance| instance.running.drained());
        let told = outcome.clone();
        self.site.world.executor.spawn(JUDGES, async move {
            if let Some(drained) = drained {
                let result = drained.await;
                *told.lock().unwrap() = Some(result);
            }
        });
        outcome
    }

    fn end_mishaps(&mut self) {
        if let Some(mishaps) = self.site.clock().set_mishaps(None) {
            self.mishaps = mishaps.struck().to_vec();
        }
    }

    /// Without crashes and the like, nothing is even tried twice.
    fn each_once(&self, input: &[Write]) -> Verdict {
        let mut next = BTreeMap::new();
        let read: BTreeSet<&str> = input.iter().map(|write| write.topic).collect();
        for line in self.site.diary.since(0) {
            if !read.contains(line.topic) {
                continue;
            }
            let next = next.entry((line.topic, line.partition)).or_insert(0);
            if line.offset.get() != *next {
                return Err(format!("{line:?} was processed instead of offset {next}"));
            }
            *next += 1;
        }
        Ok(())
    }
}
