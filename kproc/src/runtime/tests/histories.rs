//! Histories over hundreds of seeds, checked against what must have been counted.

use super::history::*;

/// Bytes of a step in a trace.
const STEP: usize = 17;

/// How many seeds (times `KPROC_SEEDS`), or the one that `KPROC_SEED` names.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|number| number.parse::<u64>().ok())
    };
    match number("KPROC_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..count * number("KPROC_SEEDS").unwrap_or(1),
    }
}

#[test]
fn g07_g08_c13_with_clean_stops_every_record_is_processed_once_and_in_order() {
    for seed in seeds(150) {
        let traces = History::at_least_once(Fates::CleanStops).run(seed);
        traces.assert_each_once_and_in_order(seed);
        assert_eq!(traces.counts, expected(), "seed {seed}");
    }
}

/// What was done before a panic is committed, so nothing is done twice because of one.
#[test]
fn b09_f08_with_panics_every_record_is_still_processed_once_and_in_order() {
    for seed in seeds(60) {
        let traces = History::at_least_once(Fates::CleanStopsAndPanics).run(seed);
        traces.assert_each_once_and_in_order(seed);
        assert_eq!(traces.counts, expected(), "seed {seed}");
    }
}

#[test]
fn crashes_lose_nothing() {
    let history = History::at_least_once(Fates::CleanStopsAndCrashes);
    let again: i64 = seeds(200)
        .map(|seed| history.run(seed).assert_nothing_lost(seed))
        .sum();
    assert!(again > 0, "no crash has ever had an effect: they are no crashes");
}

#[test]
fn cut_networks_lose_nothing() {
    for seed in seeds(150) {
        History::at_least_once(Fates::CutNetworks)
            .run(seed)
            .assert_nothing_lost(seed);
    }
}

#[test]
fn processes_that_stand_still_lose_nothing() {
    for seed in seeds(150) {
        History::at_least_once(Fates::Zombies)
            .run(seed)
            .assert_nothing_lost(seed);
    }
}

#[test]
fn whatever_happens_nothing_is_lost() {
    for seed in seeds(100) {
        History::at_least_once(Fates::Anything)
            .run(seed)
            .assert_nothing_lost(seed);
    }
}

#[test]
fn exactly_once_with_clean_stops_nothing_is_even_tried_twice() {
    for seed in seeds(60) {
        let traces = History::exactly_once(Fates::CleanStops).run(seed);
        traces.assert_each_once_and_in_order(seed);
        traces.assert_exact(seed);
    }
}

#[test]
fn exactly_once_with_panics_everything_counts_once() {
    for seed in seeds(60) {
        History::exactly_once(Fates::CleanStopsAndPanics)
            .run(seed)
            .assert_exact(seed);
    }
}

#[test]
fn exactly_once_with_crashes_everything_counts_once() {
    let mut again = 0;
    for seed in seeds(150) {
        let traces = History::exactly_once(Fates::CleanStopsAndCrashes).run(seed);
        traces.assert_exact(seed);
        again += traces.processed.len() as u64 - EACH * u64::from(PARTITIONS);
    }
    assert!(
        again > 0,
        "nothing was ever done again: the crashes are no crashes"
    );
}

#[test]
fn exactly_once_with_cut_networks_everything_counts_once() {
    for seed in seeds(150) {
        History::exactly_once(Fates::CutNetworks)
            .run(seed)
            .assert_exact(seed);
    }
}

#[test]
fn exactly_once_with_processes_that_stand_still_everything_counts_once() {
    for seed in seeds(150) {
        History::exactly_once(Fates::Zombies).run(seed).assert_exact(seed);
    }
}

#[test]
fn exactly_once_whatever_happens_everything_counts_once() {
    for seed in seeds(150) {
        History::exactly_once(Fates::Anything)
            .run(seed)
            .assert_exact(seed);
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in [3, 17, 42] {
        assert_same(seed, History::at_least_once(Fates::CleanStopsAndCrashes));
        assert_same(seed, History::exactly_once(Fates::Anything));
    }
}

fn assert_same(seed: u64, history: History) {
    let history = History {
        traced: true,
        ..history
    };
    let [first, second] = [(); 2].map(|()| history.run(seed));
    assert!(!first.trace.is_empty());
    let steps = |traces: &Traces| traces.trace.chunks(STEP).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let apart = steps(&first)
        .iter()
        .zip(steps(&second))
        .position(|(a, b)| *a != b);
    assert!(
        first == second,
        "seed {seed} has two histories, which part at step {apart:?}"
    );
}
