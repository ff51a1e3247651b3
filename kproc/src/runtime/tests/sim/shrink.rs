//! Makes a trial that fails smaller, as long as it fails: fewer events, ambushes and mishaps, less input. By halves, then
//! quarters, and so on down to single ones (delta debugging).

use std::collections::BTreeSet;

use super::{run::Course, trial::Trial};

/// A trial that fails, and how.
pub(super) struct Failing {
    pub(super) trial: Trial,
    pub(super) course: Course,
}

/// A smaller one, after so many runs at most.
pub(super) fn shrink(failing: Failing, runs: u32, run: &dyn Fn(&Trial) -> Course) -> Failing {
    let mut shrinker = Shrinker {
        best: failing,
        runs,
        run,
    };
    shrinker.forget_what_did_not_happen();
    // What is left out of one may make another superfluous.
    while shrinker.shrinks() {}
    shrinker.best
}

struct Shrinker<'r> {
    best: Failing,
    runs: u32,
    run: &'r dyn Fn(&Trial) -> Course,
}

/// A part of a trial of which some can be left out.
type Part = fn(&mut Trial) -> &mut Option<BTreeSet<u64>>;

impl Shrinker<'_> {
    /// One round. Whether anything was left out.
    fn shrinks(&mut self) -> bool {
        let mut shrinks = self.input();
        for part in [
            (|trial| &mut trial.events) as Part,
            |trial| &mut trial.ambushes,
            |trial| &mut trial.mishaps,
        ] {
            shrinks |= self.part(part);
        }
        shrinks && self.runs > 0
    }

    /// Names the events, ambushes and mishaps that have happened, so that the others can be left out.
    fn forget_what_did_not_happen(&mut self) {
        let course = &self.best.course;
        let mut trial = self.best.trial.clone();
        trial.events = Some(course.events.iter().map(|event| event.number).collect());
        let sprung = || course.ambushes.iter().map(|sprung| sprung.happened.number);
        trial.ambushes = trial.ambushes.map(|_| sprung().collect());
        trial.mishaps = Some(course.mishaps.iter().map(|mishap| mishap.number).collect());
        // An event that did nothing took its time nevertheless.
        if !self.fails(trial.clone()) {
            trial.events.clone_from(&self.best.trial.events);
            trial.ambushes.clone_from(&self.best.trial.ambushes);
            if trial.events.is_none() {
                trial.events = Some(self.best.course.planned.clone());
            }
            self.fails(trial);
        }
    }

    /// Whether it still fails, in any way; then it is the best one.
    fn fails(&mut self, trial: Trial) -> bool {
        if self.runs == 0 {
            return false;
        }
        self.runs -= 1;
        let course = (self.run)(&trial);
        let fails = course.verdict.is_err();
        if fails {
            self.best = Failing { trial, course };
        }
        fails
    }

    fn part(&mut self, part: Part) -> bool {
        let mut shrinks = false;
        let mut trial = self.best.trial.clone();
        let mut size = part(&mut trial).as_ref().map_or(0, BTreeSet::len);
        while size > 0 {
            size = size.div_ceil(2);
            let mut at = 0;
            loop {
                let mut trial = self.best.trial.clone();
                let Some(numbers) = part(&mut trial) else { break };
                let without: BTreeSet<u64> = numbers.iter().copied().skip(at).take(size).collect();
                if without.is_empty() {
                    break;
                }
                numbers.retain(|number| !without.contains(number));
                if self.fails(trial) {
                    shrinks = true;
                } else {
                    at += size;
                }
            }
            if size == 1 {
                break;
            }
        }
        shrinks
    }

    /// Writes less.
    fn input(&mut self) -> bool {
        let mut shrinks = false;
        let written = |failing: &Failing| failing.course.written;
        let mut cut = written(&self.best).div_ceil(2);
        while cut > 0 {
            let mut trial = self.best.trial.clone();
            let left = written(&self.best).saturating_sub(cut);
            trial.writes = Some(left);
            if left > 0 && self.fails(trial) {
                shrinks = true;
                cut = cut.min(written(&self.best) / 2);
            } else {
                cut /= 2;
            }
        }
        shrinks
    }
}
