//! Many trials, several at a time: each on one thread, and as if it were alone.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use super::{
    coverage::{self, Coverage},
    run::run,
    story,
    trial::Trial,
};
use crate::{Clock, clock::SystemClock};

/// What single requests that go wrong, and handlers, are counted under.
pub(super) const MISHAP: &str = "mishap";
/// What ambushes that were sprung are counted under.
const AMBUSH: &str = "ambush";

/// Which trials, by their numbers.
pub(super) struct Many {
    pub(super) numbers: Range<u64>,
    /// No more are begun after this time.
    pub(super) at_most: Duration,
    /// None is begun after the first that fails.
    pub(super) stop_at_first: bool,
}

/// What came of many trials.
pub(super) struct Report {
    pub(super) first: u64,
    pub(super) trials: u64,
    pub(super) steps: u64,
    /// Records of the input.
    pub(super) written: u64,
    /// Records processed: those in between, and those that were processed again, too.
    pub(super) processed: u64,
    /// What has happened, and how often.
    pub(super) happened: BTreeMap<&'static str, u64>,
    /// What has come in the middle of what, and which requests went wrong how.
    pub(super) coverage: Coverage,
    /// Virtual time.
    pub(super) simulated: Duration,
    pub(super) took: Duration,
    pub(super) failed: Vec<(Trial, String)>,
}

impl Many {
    /// All of these.
    pub(super) fn numbered(numbers: Range<u64>) -> Self {
        Self {
            numbers,
            at_most: Duration::MAX,
            stop_at_first: false,
        }
    }

    /// Trials 0 up to `count`; or what the environment says: `KPROC_SEEDS`, how many; `KPROC_FIRST`, the first one, or
    /// `fresh` for one that nobody has tried; `KPROC_SECONDS`, for how long at most; `KPROC_STOP`, to stop at the first
    /// that fails.
    pub(super) fn of(count: u64) -> Self {
        let word = |name| std::env::var(name).ok();
        let number =
            |name| word(name).map(|word| word.parse::<u64>().unwrap_or_else(|_| panic!("{name}={word}")));
        let first = match word("KPROC_FIRST").as_deref() {
            // Short enough to be typed, and too many to come again.
            Some("fresh") => SystemClock::new().random() % 1_000_000_000_000,
            Some(_) => number("KPROC_FIRST").unwrap_or_default(),
            None => 0,
        };
        let seconds = number("KPROC_SECONDS");
        let count = number("KPROC_SEEDS").unwrap_or(if seconds.is_some() { u64::MAX / 2 } else { count });
        Self {
            numbers: first..first + count,
            at_most: seconds.map_or(Duration::MAX, Duration::from_secs),
            stop_at_first: word("KPROC_STOP").is_some(),
        }
    }

    /// Runs them on all cores.
    #[expect(
        clippy::disallowed_methods,
        reason = "how long it takes in reality is asked for"
    )]
    pub(super) fn run(&self) -> Report {
        let began = Instant::now();
        let next = AtomicU64::new(self.numbers.start);
        let over = AtomicBool::new(false);
        let report = Mutex::new(Report {
            first: self.numbers.start,
            trials: 0,
            steps: 0,
            written: 0,
            processed: 0,
            happened: BTreeMap::new(),
            coverage: Coverage::default(),
            simulated: Duration::ZERO,
            took: Duration::ZERO,
            failed: Vec::new(),
        });
        let work = || {
            while !over.load(Relaxed) && began.elapsed() < self.at_most {
                let number = next.fetch_add(1, Relaxed);
                if number >= self.numbers.end {
                    break;
                }
                let trial = Trial::numbered(number);
                let course = run(&trial);
                let mut report = report.lock().unwrap();
                report.trials += 1;
                report.steps += course.steps;
                report.written += course.written as u64;
                report.processed += course.processed as u64;
                let events = course.events.iter().map(|event| event.kind.name());
                let ambushes = course.ambushes.iter().map(|_| AMBUSH);
                for name in events
                    .chain(ambushes)
                    .chain(course.mishaps.iter().map(|_| MISHAP))
                {
                    *report.happened.entry(name).or_default() += 1;
                }
                report.coverage.add(&course);
                report.simulated += course.time;
                if let Err(wrong) = course.verdict {
                    // At once: many trials take long, and somebody may end them.
                    println!("FAILED: {trial}: {wrong}\n    {}", trial.command());
                    report.failed.push((trial, wrong));
                    over.fetch_or(self.stop_at_first, Relaxed);
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        let mut report = report.into_inner().unwrap();
        report.took = began.elapsed();
        report.failed.sort_by_key(|(trial, _)| trial.seed);
        report
    }
}

impl Report {
    /// Tells what came of it; fails if any trial did.
    pub(super) fn tell(&self) {
        println!(
            "{} trials from {} on in {:.1?}: {} steps, {} records written and {} processed, {:.0?} of virtual time",
            self.trials, self.first, self.took, self.steps, self.written, self.processed, self.simulated
        );
        let happened = self
            .happened
            .iter()
            .map(|(name, times)| format!("{name} {times}"));
        println!("{}", happened.collect::<Vec<_>>().join(", "));
        println!("in the middle of what, and which requests:{}", self.coverage);
        if let Some((trial, _)) = self.failed.first() {
            println!("{}", story::tell(trial.clone(), run(trial)));
        }
        // Once more, after the log of one: who sees only the end of all this sees what to run.
        let commands = self
            .failed
            .iter()
            .map(|(trial, wrong)| format!("\n{wrong}\n    {}", trial.command()));
        assert!(
            self.failed.is_empty(),
            "{} of {} trials have failed:{}",
            self.failed.len(),
            self.trials,
            commands.collect::<String>()
        );
        if self.trials >= coverage::ENOUGH {
            self.coverage.is_complete();
        }
    }
}
