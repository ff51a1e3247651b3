//! The simulator: instances of an application come and go on the embedded cluster, everything that can go wrong does,
//! and each step is judged. The runtime, the engine and the store are those of production; time, chance and what wakes
//! when come from a seed.
//!
//! A [`trial`] is a workload, a mode, and a seed with the [`plan`] that follows from it. Its [`run`] is judged by the
//! workload's own judge, an [`observer`] of what is committed, and, in the [`ending`], by what is left on disk.
//!
//! Most of what happens does so at a time that was drawn; an [`ambush`] waits until an instance is in the middle of something.
//!
//! Something new: a kind of event goes into [`event`], a workload beside [`counter`] and into the list in [`workload`].

mod ambush;
mod chance;
mod counter;
mod coverage;
mod ending;
mod event;
mod harm;
mod loads;
mod log;
mod machine;
mod many;
mod observer;
mod plan;
mod planted;
mod promises;
mod run;
mod shrink;
mod site;
mod story;
mod trial;
mod workload;

use self::{
    log::run_logged,
    many::Many,
    run::{run, run_on},
    trial::Trial,
};
use crate::testing::exec::Executor;

/// The first trials, or as many as the environment says: see [`Many::of`].
#[test]
fn seeds() {
    Many::of(200).run().tell();
}

/// All trials that ever failed: `failed.txt` has them, one a line.
#[test]
fn what_has_failed_before() {
    let lines = include_str!("failed.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let trial: Trial = line.parse().unwrap();
        let course = run(&trial);
        assert!(course.verdict.is_ok(), "{}", story::tell(trial, course));
    }
}

/// The trial that `KPROC_TRIAL` says, with its log; a smaller one, if it fails and `KPROC_SHRINK` is set.
#[test]
fn replay() {
    let Ok(trial) = std::env::var("KPROC_TRIAL") else {
        return;
    };
    let trial: Trial = trial.parse().unwrap();
    let (course, log) = run_logged(&trial);
    println!("{log}\n{}", story::happened(&course));
    if let Err(wrong) = &course.verdict {
        let wrong = format!("{trial}: {wrong}");
        if std::env::var("KPROC_SHRINK").is_ok() {
            println!("{}", story::tell(trial, course));
        }
        panic!("{wrong}");
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
