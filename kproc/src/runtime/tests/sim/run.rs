//! A trial's run: what its plan says happens, every step is judged, and in the end somebody finishes the work.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    ambush::{Ambush, Whom},
    chance::Chance,
    ending,
    event::{Kind, happen},
    observer::Observer,
    plan::{OFFSETS, Plan},
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
    /// The ambushes that found something to happen to.
    pub(super) ambushes: Vec<Sprung>,
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

/// An ambush that was sprung.
#[derive(Debug, Clone)]
pub(super) struct Sprung {
    /// The place, and what was done.
    pub(super) meeting: (&'static str, &'static str),
    pub(super) happened: Happened,
}

/// What takes longer than this, in virtual time, never comes.
const NEVER: Duration = Duration::from_secs(3600);
/// No more values than this can be damaged: each event does that to one value of each task.
const MOST_DAMAGES: u32 = 200;
/// What goes on for so long is more than a little.
const A_LITTLE: Duration = Duration::from_millis(50);
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
    plan.ambushes.retain(|ambush| {
        trial
            .ambushes
            .as_ref()
            .is_some_and(|laid| laid.contains(&ambush.number))
    });
    plan.input.truncate(trial.writes.unwrap_or(usize::MAX));
    let site = Site::new(executor, trial, &plan);
    let mishaps = Mishaps::new(trial.seed, plan.requests, trial.mishaps.clone());
    let mut run = Run {
        judge: trial.workload.judge(trial.mode, &plan.input),
        observer: Observer::new(),
        clean: true,
        zombies: false,
        damages: 0,
        lost: Vec::new(),
        asked: 0,
        lines: 0,
        events: Vec::new(),
        waiting: Vec::new(),
        due: Vec::new(),
        ambushes: Vec::new(),
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
        ambushes: run.ambushes,
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
    /// How many instances have ended over a value that is not what was written.
    damages: u32,
    /// The offsets that the group has lost.
    lost: Vec<(TopicPartition, CommittedOffset)>,
    /// How many instances have ended because nothing told them where they were.
    asked: u32,
    /// Lines of the diary that were judged.
    lines: usize,
    events: Vec<Happened>,
    /// Ambushes that have not struck.
    waiting: Vec<Ambush>,
    /// Those that were sprung, by whom, and after how many steps of the executor they strike.
    due: Vec<(u64, Crew, Ambush)>,
    ambushes: Vec<Sprung>,
    mishaps: Vec<Mishap>,
    site: Site,
}

impl Run {
    fn all(&mut self, trial: &Trial, plan: &Plan, mishaps: Mishaps) -> Verdict {
        self.clean &= plan.requests.is_none();
        self.site.clock().set_mishaps(Some(mishaps));
        self.site
            .clock()
            .lay(plan.ambushes.iter().map(Ambush::trap).collect());
        self.waiting.clone_from(&plan.ambushes);
        self.will_write(&plan.input);
        for event in &plan.events {
            // So that time stands still there, if nothing else happens.
            self.site.clock().schedule(event.at, || {});
            while self.site.clock().now() < event.at {
                self.step()?;
            }
            self.a_little_later(event.steps)?;
            let happened = self.happens(event.kind, event.slot, event.number, || event.to_string());
            self.events.extend(happened);
        }
        let last = plan.input.last().map_or(Duration::ZERO, |write| write.at);
        let last = last.max(self.site.clock().now()) + plan.rest;
        self.site.clock().schedule(last, || {});
        while self.site.clock().now() < last {
            self.step()?;
        }
        self.finish(trial, plan)
    }

    /// Lets something happen to an instance, if there is one.
    fn happens(
        &mut self,
        kind: Kind,
        slot: usize,
        number: u64,
        what: impl Fn() -> String,
    ) -> Option<Happened> {
        if !happen(kind, slot, &mut self.site) {
            return None;
        }
        self.clean &= kind.is_clean();
        self.zombies |= kind.makes_zombies();
        self.observer.compacted |= kind.compacts();
        self.observer.late |= kind.delays_records();
        Some(Happened {
            number,
            kind,
            at: self.site.clock().now(),
            what: what(),
        })
    }

    /// Ambushes strike that were sprung.
    fn strike(&mut self) {
        let steps = self.site.world.executor.steps();
        for sprung in self.site.clock().take_sprung() {
            let waits = |ambush: &Ambush| ambush.number == sprung.number;
            if let Some(place) = self.waiting.iter().position(waits) {
                let ambush = self.waiting.remove(place);
                self.due.push((steps + ambush.steps, sprung.crew, ambush));
            }
        }
        let (now, later) = std::mem::take(&mut self.due)
            .into_iter()
            .partition(|(due, _, ambush)| *due <= steps || matches!(ambush.deed.kind, Kind::Snag(_)));
        self.due = later;
        for (_, crew, ambush) in now {
            self.strikes(crew, &ambush);
        }
    }

    fn strikes(&mut self, crew: Crew, ambush: &Ambush) {
        let Some(comer) = self.site.slot_of(crew) else {
            return;
        };
        let kind = ambush.deed.kind;
        let slot = match ambush.deed.whom {
            Whom::Comer => comer,
            Whom::Other => SLOTS.len() - 1 - comer,
        };
        if let Some(happened) = self.happens(kind, slot, ambush.number, || ambush.to_string()) {
            let meeting = (ambush.place, ambush.deed.name());
            self.ambushes.push(Sprung { meeting, happened });
            if let (Some(again), Some(false)) = (ambush.again, kind.leaves_up()) {
                self.site.start_later(slot, again);
            }
        }
    }

    /// From here on no ambush starts an instance.
    fn let_nobody_start(&mut self) {
        self.waiting.retain(|ambush| ambush.deed.kind != Kind::Start);
        self.due.retain(|(_, _, ambush)| ambush.deed.kind != Kind::Start);
        let due = self.due.iter_mut().map(|(_, _, ambush)| ambush);
        due.chain(&mut self.waiting)
            .for_each(|ambush| ambush.again = None);
    }

    /// Those that are up may end; then others finish the work.
    fn finish(&mut self, trial: &Trial, plan: &Plan) -> Verdict {
        self.site.leave_alone();
        self.let_nobody_start();
        self.site.stop_all();
        self.until("all have stopped", Site::all_down)?;
        self.site.clock().spare_requests();
        self.site.clock().lay(Vec::new());
        self.due.clear();
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
        if trial.mode == Mode::ExactlyOnce || !self.observer.late {
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
            had_late_records: self.observer.late,
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
        self.site.nothing_is_released_early()?;
        self.strike();
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
