//! What is promised of plans of one sort, and that there are plans of all sorts.

use super::{
    chance::Chance,
    event::KINDS,
    many::{MISHAP, Many},
    plan::Plan,
    run::run,
    trial::Trial,
};

/// Trials whose plans are like that, one after another.
fn trials(like: impl Fn(&Plan) -> bool) -> impl Iterator<Item = Trial> {
    let calm = |number| Trial {
        ambushes: None,
        ..Trial::numbered(number)
    };
    let trials = (0..).map(calm);
    trials.filter(move |trial| like(&Plan::new(trial.workload, trial.seed)))
}

fn hold(trials: impl Iterator<Item = Trial>) {
    for trial in trials {
        assert_eq!(run(&trial).verdict, Ok(()), "{}", trial.command());
    }
}

/// (A run is judged so if its plan is clean.)
#[test]
fn g07_g08_c13_with_clean_stops_every_record_is_processed_once_and_in_order() {
    hold(trials(|plan| plan.is_clean() && plan.panics.is_none()).take(60));
}

/// What was done before a panic is committed, so nothing is done twice because of one.
#[test]
fn b09_f08_with_panics_every_record_is_still_processed_once_and_in_order() {
    hold(trials(|plan| plan.is_clean() && plan.panics.is_some()).take(30));
}

#[test]
fn everything_happens_and_not_for_nothing() {
    let report = Many::numbered(0..100).run();
    let any = &mut Chance::of(0, 0);
    let kinds: Vec<&str> = KINDS.iter().map(|draw| (draw.make)(any).name()).collect();
    for name in kinds.into_iter().chain(["start", "stop", MISHAP]) {
        let times = report.happened.get(name).copied().unwrap_or_default();
        assert!(
            times >= 2,
            "{name} has happened {times} times only: {:?}",
            report.happened
        );
    }
    let again = report.processed.saturating_sub(report.written);
    assert!(
        again > 100,
        "of {} records only {again} were processed again",
        report.written
    );
}
