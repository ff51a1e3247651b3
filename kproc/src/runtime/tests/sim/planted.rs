//! Mistakes that are planted in the runtime are found: so they would be if they were real.

use std::collections::BTreeSet;

use super::{
    counter::Counter,
    loads::{Mixed, Timers},
    run::{Course, run},
    shrink::{Failing, shrink},
    story::RUNS,
    trial::Trial,
    workload::{
        Mode::{self, AtLeastOnce, ExactlyOnce},
        Workload,
    },
};
use crate::runtime::sabotage::{ALL, Sabotage};

/// How many seeds it takes to find each of them, at most. (Nearly all take a handful. Ignored damage takes a bit that flips in a
/// value, a record that meets it, and a policy that passes it over: about one seed in six hundred.)
const ENOUGH: u64 = 4000;

/// Where each of them breaks something: in which application, under which promise.
fn place(fault: Sabotage) -> (&'static dyn Workload, Mode) {
    match fault {
        Sabotage::OffsetsFirst
        | Sabotage::WriteErrorsIgnored
        | Sabotage::ReadTakenForProcessed
        | Sabotage::ReleasedFirst
        | Sabotage::Unconfirmed
        | Sabotage::NoLastCommit => (&Counter, AtLeastOnce),
        // It takes a deletion that belongs to an output.
        Sabotage::ChangelogsBesideOutputs => (&Timers, AtLeastOnce),
        Sabotage::OwedForgotten => (&Timers, ExactlyOnce),
        // It takes a policy that passes failures over.
        Sabotage::DamageIgnored => (&Mixed, ExactlyOnce),
        _ => (&Counter, ExactlyOnce),
    }
}

/// Every other one has ambushes.
fn planted(fault: Sabotage, seed: u64) -> Trial {
    let (workload, mode) = place(fault);
    let trial = Trial {
        planted: Some(fault),
        ..Trial::new(workload, mode, seed)
    };
    if seed % 2 == 1 { trial.ambushed() } else { trial }
}

/// The first seed that shows the fault, of every so-many-th from one on.
fn find(fault: Sabotage, first: u64, step: usize) -> Option<Failing> {
    (first..ENOUGH).step_by(step).find_map(|seed| {
        let trial = planted(fault, seed);
        let course = run(&trial);
        course.verdict.is_err().then_some(Failing { trial, course })
    })
}

/// `KPROC_FAULT` names one of them, to look for that one only.
#[test]
fn every_planted_fault_is_found() {
    let only = std::env::var("KPROC_FAULT").ok();
    let wanted = |fault: &&Sabotage| only.as_ref().is_none_or(|only| *only == format!("{fault:?}"));
    let mut missed = Vec::new();
    // It comes to light in one of some hundred trials only, and has a script of its own, in `transactions`.
    let seldom = [Sabotage::FreshMetadata];
    let wanted = ALL
        .iter()
        .filter(|fault| only.is_some() || !seldom.contains(fault))
        .filter(wanted);
    for fault in wanted {
        match find(*fault, 0, 1) {
            // (Some values are long.)
            Some(Failing { trial, course }) => println!(
                "{fault:?}: found within {} seeds: {:.300}",
                trial.seed + 1,
                course.verdict.unwrap_err()
            ),
            None => missed.push(fault),
        }
    }
    assert!(missed.is_empty(), "not found within {ENOUGH} seeds: {missed:?}");
}

#[test]
fn a_failure_shrinks_to_what_it_takes_and_its_command_shows_it_again() {
    let found = find(Sabotage::StateFirst, 0, 2).unwrap();
    let size = |course: &Course| [course.events.len(), course.mishaps.len(), course.written];
    let before = size(&found.course);
    let small = shrink(found, RUNS, &run);
    let after = size(&small.course);
    // How many it takes is for the seed to say; most of what happened has no part in it.
    assert!(
        before
            .iter()
            .zip(after)
            .all(|(before, after)| after <= before / 2),
        "{before:?} events, mishaps and records have shrunk only to {after:?}:\n{}",
        super::story::happened(&small.course)
    );
    shows_again(&small);
}

/// What is not sprung, or need not be, is left out.
#[test]
fn ambushes_are_left_out_of_a_failure_that_does_not_need_them() {
    let found = find(Sabotage::StateFirst, 1, 2).unwrap();
    let laid = |failing: &Failing| failing.trial.ambushes.as_ref().map_or(0, BTreeSet::len);
    let before = laid(&found);
    let small = shrink(found, RUNS, &run);
    assert!(
        before > 2 && laid(&small) <= 2 && small.course.events.len() <= 3,
        "{before} ambushes have shrunk only to\n{}",
        super::story::happened(&small.course)
    );
    shows_again(&small);
}

fn shows_again(small: &Failing) {
    let command = small.trial.command();
    let said = command.split('\'').nth(1).unwrap();
    let again = run(&said.parse().unwrap());
    assert_eq!(again.verdict, small.course.verdict);
    assert!(again.verdict.is_err());
}
