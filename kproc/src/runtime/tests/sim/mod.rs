//! The simulator: instances of an application come and go on the embedded cluster, everything that can go wrong does,
//! and each step is judged. The runtime, the engine and the store are those of production; time, chance and what wakes
//! when come from a seed.
//!
//! A [`trial`] is a workload, a mode, and a seed with the [`plan`] that follows from it. Its [`run`] is judged by the
//! workload's own judge, an [`observer`] of what is committed, and, in the [`ending`], by what is left on disk.
//!
//! Something new: a kind of event goes into [`event`], a workload beside [`counter`] and into the list in [`workload`].

mod chance;
mod counter;
mod ending;
mod event;
mod loads;
mod machine;
mod observer;
mod plan;
mod run;
mod site;
mod trial;
mod workload;

use self::{
    run::{Course, run, run_on},
    trial::Trial,
};
use crate::testing::exec::Executor;

/// Trials in turn.
#[test]
fn seeds() {
    for number in 0..200 {
        let trial = Trial::numbered(number);
        tell(&trial, &run(&trial));
    }
}

/// The trial that `KPROC_TRIAL` says.
#[test]
fn replay() {
    if let Ok(trial) = std::env::var("KPROC_TRIAL") {
        let trial: Trial = trial.parse().unwrap();
        let course = run(&trial);
        println!(
            "{} steps, {:?}, {} records processed",
            course.steps, course.time, course.processed
        );
        tell(&trial, &course);
    }
}

#[test]
fn the_same_trial_takes_the_same_course() {
    for number in 0..8 {
        let trial = Trial::numbered(number);
        let [first, second] = [(); 2].map(|()| run_on(Executor::new(number).traced(), &trial).trace);
        let apart = first.iter().zip(&second).position(|(a, b)| a != b);
        assert!(!first.is_empty());
        assert!(
            first == second,
            "{trial} takes two courses, which part at byte {apart:?}"
        );
    }
}

/// Fails if the trial did, with all that it takes to see why.
fn tell(trial: &Trial, course: &Course) {
    if let Err(wrong) = &course.verdict {
        for (at, _, what) in &course.events {
            println!("{at:?} {what}");
        }
        for mishap in &course.mishaps {
            println!("{mishap:?}");
        }
        panic!("{}\n{wrong}", trial.command());
    }
}
