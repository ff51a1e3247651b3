//! Two instances come and go at random suspensions while records are written, over hundreds of seeds, checked
//! against what must have been counted.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::kit::*;
use crate::{
    Clock, Policy, Record, Retry,
    runtime::Transactions,
    testing::exec::{Crew, Executor},
};

const PARTITIONS: u32 = 4;
const EACH: u64 = 40;
const KEYS: u64 = 5;
const ACTIONS: u32 = 8;

/// Bytes of a step in a trace.
const STEP: usize = 17;

/// What may happen to an instance besides starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fates {
    CleanStops,
    /// Also handlers that panic, and are tried again.
    CleanStopsAndPanics,
    CleanStopsAndCrashes,
    /// Also networks that are cut for a while.
    CutNetworks,
    /// Also requests that are refused, and requests and answers that are lost.
    Anything,
}

impl Fates {
    /// Whether instances end in good order only.
    fn are_clean(self) -> bool {
        matches!(self, Self::CleanStops | Self::CleanStopsAndPanics)
    }

    fn cuts_networks(self) -> bool {
        matches!(self, Self::CutNetworks | Self::Anything)
    }

    fn start(self, world: &mut World, slot: &str, transactions: Option<&Transactions>) -> Instance {
        let mut settings = world.settings(slot);
        settings.transactions = transactions.cloned();
        if self != Self::CleanStopsAndPanics {
            return world.start_with(settings, None);
        }
        settings.task.policies.panic = Policy::Retry(Retry {
            attempts: 100,
            backoff: Duration::from_millis(1),
            ..Retry::default()
        });
        let clock = world.clock();
        let whim = move |_: &Record<'_>| {
            if clock.random().is_multiple_of(8) {
                // As a panic, without a word.
                std::panic::resume_unwind(Box::new("no luck"));
            }
            Ok(())
        };
        world.start_with(settings, Some(Arc::new(whim)))
    }
}

/// What is left of a history.
#[derive(Debug, PartialEq)]
struct Traces {
    trace: Vec<u8>,
    processed: Vec<(u64, crate::Partition, crate::Offset)>,
    counts: BTreeMap<String, i64>,
    /// All that was sent, in order for each key.
    sent: BTreeMap<String, Vec<i64>>,
}

fn history(seed: u64, fates: Fates, traced: bool) -> Traces {
    history_with(seed, fates, None, traced)
}

/// A history of instances that commit in transactions.
fn exact_history(seed: u64, fates: Fates, traced: bool) -> Traces {
    let timeout = Duration::from_millis(1500);
    history_with(seed, fates, Some(&Transactions { timeout }), traced)
}

fn history_with(seed: u64, fates: Fates, transactions: Option<&Transactions>, traced: bool) -> Traces {
    let executor = Executor::new(seed);
    let mut world = World::of_words(if traced { executor.traced() } else { executor });
    let clock = world.clock();
    if fates == Fates::Anything {
        clock.set_faults(Some(100));
    }
    let feeder = Crew(1000);
    world.executor.spawn(feeder, {
        let (cluster, clock) = (world.cluster.clone(), clock.clone());
        async move {
            for number in 0..EACH {
                for partition in 0..PARTITIONS {
                    let key = format!("p{partition}k{}", number % KEYS);
                    append(&cluster, "words", partition, &key, number as i64);
                }
                let pause = Duration::from_millis(clock.random() % 25);
                clock.sleep_until(clock.now() + pause).await;
            }
        }
    });

    let mut up: BTreeMap<&'static str, Instance> = BTreeMap::new();
    let mut actions = 0;
    let mut next = 0;
    while actions < ACTIONS || world.executor.alive(feeder) > 0 {
        if !world.executor.step() {
            next = 0; // nobody is there who could do anything
        }
        assert!(world.executor.steps() < 2_000_000, "it never ends");
        // A stopped instance is down once its last future has ended.
        up.retain(|_, instance| world.executor.alive(instance.crew) > 0);
        if world.executor.steps() < next || actions >= ACTIONS {
            continue;
        }
        next = world.executor.steps() + 50 + clock.random() % 1500;
        actions += 1;
        let slot = ["a", "b"][(clock.random() % 2) as usize];
        match up.get(slot) {
            None => {
                let instance = fates.start(&mut world, slot, transactions);
                up.insert(slot, instance);
            }
            Some(instance) if fates.are_clean() || clock.random().is_multiple_of(3) => {
                instance.running.shutdown(Duration::from_secs(20));
            }
            // Cut off, for longer than its session or not, and back, believing what it believed.
            Some(instance) if fates.cuts_networks() && clock.random().is_multiple_of(2) => {
                let connection = instance.connection.clone();
                connection.sever();
                let back = clock.now() + Duration::from_millis(clock.random() % 2500);
                clock.schedule(back, move || connection.mend());
            }
            Some(_) => {
                let instance = up.remove(slot).unwrap();
                world.crash(&instance);
            }
        }
    }

    // Those that are stopping may end; then somebody finishes the work.
    for (_, instance) in std::mem::take(&mut up) {
        let stopped = world.stop(&instance);
        // An answer that does not come is waited for longer than a stop may take.
        assert!(
            stopped.is_ok() || fates == Fates::Anything,
            "seed {seed}: {stopped:?}"
        );
    }
    clock.set_faults(None);
    let a = fates.start(&mut world, "a", transactions);
    let b = fates.start(&mut world, "b", transactions);
    world.drain(&a);
    assert_eq!(world.stop(&b), Ok(()), "seed {seed}");
    assert_eq!(world.stop(&a), Ok(()), "seed {seed}");
    let counts = world.last_values("counts", PARTITIONS);
    assert_eq!(
        counts,
        world.last_values(CHANGELOG, PARTITIONS),
        "seed {seed}: the changelog differs"
    );
    let mut sent: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for partition in 0..PARTITIONS {
        for (key, count) in world.read("counts", partition) {
            sent.entry(key).or_default().push(count.unwrap());
        }
    }
    Traces {
        trace: world.executor.trace(),
        processed: world.diary.lines(),
        counts,
        sent,
    }
}

fn expected() -> BTreeMap<String, i64> {
    let keys = (0..PARTITIONS).flat_map(|partition| (0..KEYS).map(move |key| format!("p{partition}k{key}")));
    keys.map(|key| (key, (EACH / KEYS) as i64)).collect()
}

fn offsets(traces: &Traces, partition: u32) -> Vec<u64> {
    let lines = traces.processed.iter().filter(|line| line.1.get() == partition);
    lines.map(|line| line.2.get()).collect()
}

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
        assert_each_once_and_in_order(seed, &history(seed, Fates::CleanStops, false));
    }
}

/// What was done before a panic is committed, so nothing is done twice because of one.
#[test]
fn b09_f08_with_panics_every_record_is_still_processed_once_and_in_order() {
    for seed in seeds(60) {
        assert_each_once_and_in_order(seed, &history(seed, Fates::CleanStopsAndPanics, false));
    }
}

fn assert_each_once_and_in_order(seed: u64, traces: &Traces) {
    for partition in 0..PARTITIONS {
        let all: Vec<u64> = (0..EACH).collect();
        assert_eq!(
            offsets(traces, partition),
            all,
            "seed {seed}, partition {partition}"
        );
    }
    assert_eq!(traces.counts, expected(), "seed {seed}");
}

#[test]
fn crashes_lose_nothing() {
    let mut again = 0;
    for seed in seeds(200) {
        let traces = history(seed, Fates::CleanStopsAndCrashes, false);
        for (key, due) in expected() {
            let count = traces.counts.get(&key).copied().unwrap_or_default();
            assert!(
                count >= due,
                "seed {seed}: {key} is {count}, and {due} were written"
            );
            again += count - due;
        }
    }
    assert!(again > 0, "no crash has ever had an effect: they are no crashes");
}

#[test]
fn cut_networks_lose_nothing() {
    for seed in seeds(150) {
        let traces = history(seed, Fates::CutNetworks, false);
        for (key, due) in expected() {
            let count = traces.counts.get(&key).copied().unwrap_or_default();
            assert!(
                count >= due,
                "seed {seed}: {key} is {count}, and {due} were written"
            );
        }
    }
}

/// What an observer sees of a key, whatever happens to the instances: each count once, in order.
fn assert_exact(seed: u64, traces: &Traces) {
    for (key, due) in expected() {
        let exact: Vec<i64> = (1..=due).collect();
        assert_eq!(traces.sent.get(&key), Some(&exact), "seed {seed}: {key}");
    }
    assert_eq!(traces.counts, expected(), "seed {seed}");
}

#[test]
fn exactly_once_with_clean_stops_nothing_is_even_tried_twice() {
    for seed in seeds(60) {
        let traces = exact_history(seed, Fates::CleanStops, false);
        assert_each_once_and_in_order(seed, &traces);
        assert_exact(seed, &traces);
    }
}

#[test]
fn exactly_once_with_panics_everything_counts_once() {
    for seed in seeds(60) {
        assert_exact(seed, &exact_history(seed, Fates::CleanStopsAndPanics, false));
    }
}

#[test]
fn exactly_once_with_crashes_everything_counts_once() {
    let mut again = 0;
    for seed in seeds(150) {
        let traces = exact_history(seed, Fates::CleanStopsAndCrashes, false);
        assert_exact(seed, &traces);
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
        assert_exact(seed, &exact_history(seed, Fates::CutNetworks, false));
    }
}

#[test]
fn whatever_happens_nothing_is_lost() {
    for seed in seeds(100) {
        let traces = history(seed, Fates::Anything, false);
        for (key, due) in expected() {
            let count = traces.counts.get(&key).copied().unwrap_or_default();
            assert!(
                count >= due,
                "seed {seed}: {key} is {count}, and {due} were written"
            );
        }
    }
}

#[test]
fn exactly_once_whatever_happens_everything_counts_once() {
    for seed in seeds(150) {
        assert_exact(seed, &exact_history(seed, Fates::Anything, false));
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in [3, 17, 42] {
        let [first, second] = [(); 2].map(|()| history(seed, Fates::CleanStopsAndCrashes, true));
        assert_same(seed, &first, &second);
        let [first, second] = [(); 2].map(|()| exact_history(seed, Fates::Anything, true));
        assert_same(seed, &first, &second);
    }
}

fn assert_same(seed: u64, first: &Traces, second: &Traces) {
    assert!(!first.trace.is_empty());
    let steps = |traces: &Traces| traces.trace.chunks(STEP).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let apart = steps(first).iter().zip(steps(second)).position(|(a, b)| *a != b);
    assert!(
        first == second,
        "seed {seed} has two histories, which part at step {apart:?}"
    );
}
