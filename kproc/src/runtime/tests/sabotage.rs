//! Planted faults are found: the histories would find them if they were real.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::history::*;
use crate::runtime::sabotage::Sabotage;

/// How many seeds it takes to find each of them, at most.
const ENOUGH: u64 = 400;

/// Where each fault is looked for.
const PLANTED: &[(Sabotage, History)] = &[
    (
        Sabotage::StateFirst,
        History::exactly_once(Fates::CleanStopsAndCrashes),
    ),
    (
        Sabotage::OffsetsFirst,
        History::at_least_once(Fates::CleanStopsAndCrashes),
    ),
    (
        Sabotage::WriteErrorsIgnored,
        History::at_least_once(Fates::Anything),
    ),
    (
        Sabotage::UnknownTakenForAborted,
        History::exactly_once(Fates::Anything),
    ),
    (Sabotage::NoFallBack, History::exactly_once(Fates::Anything)),
    (Sabotage::NoRewind, History::exactly_once(Fates::Anything)),
    (
        Sabotage::ReadTakenForProcessed,
        History::at_least_once(Fates::CleanStopsAndCrashes),
    ),
    (
        Sabotage::SentBeforeCommit,
        History::exactly_once(Fates::CleanStopsAndCrashes),
    ),
    (Sabotage::ReleasedFirst, History::at_least_once(Fates::CleanStops)),
    (Sabotage::NoLastCommit, History::at_least_once(Fates::CleanStops)),
    (
        Sabotage::UncommittedRestored,
        History::exactly_once(Fates::CleanStopsAndCrashes),
    ),
    (
        Sabotage::RestoreEndsEarly,
        History::exactly_once(Fates::CleanStopsAndCrashes),
    ),
    (Sabotage::RestoreSaysDone, History::exactly_once(Fates::Anything)),
    (
        Sabotage::DeletionsForgotten,
        History::exactly_once(Fates::CleanStopsAndCrashes),
    ),
    (
        Sabotage::PositionWithoutState,
        History::exactly_once(Fates::CleanStopsAndCrashes),
    ),
    (Sabotage::Unconfirmed, History::at_least_once(Fates::Zombies)),
];

/// Whether the promises break in a history.
fn breaks(history: History, seed: u64) -> bool {
    let check = || {
        let traces = history.run(seed);
        match (history.exactly_once, history.fates) {
            (true, _) => traces.assert_exact(seed),
            (false, Fates::CleanStops) => traces.assert_each_once_and_in_order(seed),
            (false, _) => drop(traces.assert_nothing_lost(seed)),
        }
    };
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

/// `KPROC_FAULT` names one of them, to look for that one only.
#[test]
fn every_planted_fault_is_found() {
    let mut missed = Vec::new();
    let mut found = Vec::new();
    let only = std::env::var("KPROC_FAULT").ok();
    let wanted = |fault: Sabotage| only.as_ref().is_none_or(|only| *only == format!("{fault:?}"));
    for &(fault, history) in PLANTED.iter().filter(|planted| wanted(planted.0)) {
        let history = History {
            sabotage: Some(fault),
            ..history.eventful()
        };
        match (0..ENOUGH).find(|seed| breaks(history, *seed)) {
            Some(seed) => found.push((fault, seed + 1)),
            None => missed.push(fault),
        }
    }
    for (fault, seeds) in &found {
        println!("{fault:?}: found within {seeds} seeds");
    }
    assert!(missed.is_empty(), "not found within {ENOUGH} seeds: {missed:?}");
}
