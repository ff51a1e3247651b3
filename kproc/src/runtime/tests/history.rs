//! A history: two instances come and go at random suspensions while records are written. What they have left is for
//! the tests to check.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::kit::*;
use crate::{
    Clock, Policy, Record, Retry,
    runtime::{Transactions, sabotage::Sabotage},
    testing::{
        exec::{Crew, Executor},
        mishaps::Mishaps,
    },
};

pub(super) const PARTITIONS: u32 = 4;
pub(super) const EACH: u64 = 40;
pub(super) const KEYS: u64 = 5;

/// With transactions, keys are forgotten when they come to this: deletions are history, too.
const FORGET_AT: i64 = 3;

/// What may happen to an instance besides starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fates {
    CleanStops,
    /// Also handlers that panic, and are tried again.
    CleanStopsAndPanics,
    CleanStopsAndCrashes,
    /// Also networks that are cut for a while.
    CutNetworks,
    /// Also processes that stand still for a while, and go on.
    Zombies,
    /// Also requests that are refused, requests and answers that are lost, and state directories that are.
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

    fn freezes(self) -> bool {
        matches!(self, Self::Zombies | Self::Anything)
    }
}

/// What is to happen.
#[derive(Debug, Clone, Copy)]
pub(super) struct History {
    pub(super) fates: Fates,
    pub(super) exactly_once: bool,
    pub(super) sabotage: Option<Sabotage>,
    pub(super) traced: bool,
    /// How often something happens to an instance.
    pub(super) actions: u32,
    pub(super) commit_interval: Duration,
}

/// What is left of a history.
#[derive(Debug, PartialEq)]
pub(super) struct Traces {
    pub(super) trace: Vec<u8>,
    pub(super) processed: Vec<(u64, crate::Partition, crate::Offset)>,
    /// The last count of each key.
    pub(super) counts: BTreeMap<String, i64>,
    /// All that was sent, in order for each key.
    pub(super) sent: BTreeMap<String, Vec<i64>>,
}

impl History {
    /// Instances that commit at least once.
    pub(super) const fn at_least_once(fates: Fates) -> Self {
        Self {
            fates,
            exactly_once: false,
            sabotage: None,
            traced: false,
            actions: 8,
            commit_interval: Duration::from_millis(100),
        }
    }

    /// Instances that commit in transactions.
    pub(super) const fn exactly_once(fates: Fates) -> Self {
        Self {
            exactly_once: true,
            ..Self::at_least_once(fates)
        }
    }

    /// The same, with more of everything in it.
    pub(super) const fn eventful(self) -> Self {
        Self {
            actions: 30,
            commit_interval: Duration::from_millis(20),
            ..self
        }
    }

    fn start(&self, world: &mut World, slot: &str) -> Instance {
        let mut settings = world.settings(slot);
        settings.sabotage = self.sabotage;
        settings.commit_interval = self.commit_interval;
        // So that a restore takes some time, in which something can happen.
        settings.restore_batch = 2;
        let timeout = Duration::from_millis(1500);
        settings.transactions = self.exactly_once.then_some(Transactions { timeout });
        let mut whim: Option<Whim> = None;
        if self.fates == Fates::CleanStopsAndPanics {
            settings.task.policies.panic = Policy::Retry(Retry {
                attempts: 100,
                backoff: Duration::from_millis(1),
                ..Retry::default()
            });
            let clock = world.clock();
            whim = Some(Arc::new(move |_: &Record<'_>| {
                if clock.random().is_multiple_of(8) {
                    // As a panic, without a word.
                    std::panic::resume_unwind(Box::new("no luck"));
                }
                Ok(())
            }));
        }
        if self.exactly_once {
            world.start_forgetful(settings, whim, FORGET_AT)
        } else {
            world.start_with(settings, whim)
        }
    }

    /// Lets it happen.
    pub(super) fn run(&self, seed: u64) -> Traces {
        let traced = self.traced;
        let executor = Executor::new(seed);
        let mut world = World::of_words(if traced { executor.traced() } else { executor });
        let clock = world.clock();
        if self.fates == Fates::Anything {
            clock.set_mishaps(Some(Mishaps::new(seed, 100, None)));
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
        let mut frozen: BTreeMap<&'static str, Duration> = BTreeMap::new();
        let mut actions = 0;
        let mut next = 0;
        while actions < self.actions || world.executor.alive(feeder) > 0 {
            if !world.executor.step() {
                next = 0; // nobody is there who could do anything
            }
            assert!(world.executor.steps() < 2_000_000, "it never ends");
            // A stopped instance is down once its last future has ended.
            up.retain(|_, instance| world.executor.alive(instance.crew) > 0);
            frozen.retain(|slot, until| {
                let frozen = *until > clock.now();
                if !frozen {
                    world.thaw(&up[slot]);
                }
                frozen
            });
            if world.executor.steps() < next || actions >= self.actions {
                continue;
            }
            next = world.executor.steps() + 50 + clock.random() % 1500;
            actions += 1;
            let slot = ["a", "b"][(clock.random() % 2) as usize];
            match up.get(slot) {
                // A stopped process does nothing, and nobody speaks to it.
                Some(_) if frozen.contains_key(slot) => {}
                None => {
                    let instance = self.start(&mut world, slot);
                    up.insert(slot, instance);
                }
                Some(instance) if self.fates.are_clean() || clock.random().is_multiple_of(3) => {
                    instance.running.shutdown(Duration::from_secs(20));
                }
                // Cut off, for longer than its session or not, and back, believing what it believed.
                Some(instance) if self.fates.cuts_networks() && clock.random().is_multiple_of(2) => {
                    let connection = instance.connection.clone();
                    connection.sever();
                    let back = clock.now() + Duration::from_millis(clock.random() % 2500);
                    clock.schedule(back, move || connection.mend());
                }
                // Longer than its session, or its transactions' time-out, or not.
                Some(instance) if self.fates.freezes() && clock.random().is_multiple_of(2) => {
                    world.freeze(instance);
                    let until = clock.now() + Duration::from_millis(clock.random() % 3000);
                    frozen.insert(slot, until);
                    // So that time goes on if nobody else is there.
                    clock.schedule(until, || {});
                }
                Some(_) => {
                    let instance = up.remove(slot).unwrap();
                    world.crash(&instance);
                    if self.fates == Fates::Anything && clock.random().is_multiple_of(2) {
                        // It may have died before it had one.
                        let _ = std::fs::remove_dir_all(world.directory.path().join(slot));
                    }
                }
            }
        }

        for slot in frozen.keys() {
            world.thaw(&up[slot]);
        }
        // Those that are stopping may end; then somebody finishes the work.
        for (_, instance) in std::mem::take(&mut up) {
            let stopped = world.stop(&instance);
            // An answer that does not come is waited for longer than a stop may take.
            assert!(
                stopped.is_ok() || self.fates == Fates::Anything,
                "seed {seed}: {stopped:?}"
            );
        }
        clock.set_mishaps(None);
        let a = self.start(&mut world, "a");
        let b = self.start(&mut world, "b");
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
}

fn keys() -> impl Iterator<Item = String> {
    (0..PARTITIONS).flat_map(|partition| (0..KEYS).map(move |key| format!("p{partition}k{key}")))
}

/// How often each key was written.
pub(super) fn expected() -> BTreeMap<String, i64> {
    keys().map(|key| (key, (EACH / KEYS) as i64)).collect()
}

impl Traces {
    /// The offsets of a partition in the order in which they were processed.
    fn offsets(&self, partition: u32) -> Vec<u64> {
        let lines = self.processed.iter().filter(|line| line.1.get() == partition);
        lines.map(|line| line.2.get()).collect()
    }

    /// Nothing was even tried twice.
    pub(super) fn assert_each_once_and_in_order(&self, seed: u64) {
        for partition in 0..PARTITIONS {
            let all: Vec<u64> = (0..EACH).collect();
            assert_eq!(self.offsets(partition), all, "seed {seed}, partition {partition}");
        }
    }

    /// Every record has counted; some perhaps twice. How many more counts there are than records.
    pub(super) fn assert_nothing_lost(&self, seed: u64) -> i64 {
        let mut again = 0;
        for (key, due) in expected() {
            let count = self.counts.get(&key).copied().unwrap_or_default();
            assert!(
                count >= due,
                "seed {seed}: {key} is {count}, and {due} were written"
            );
            again += count - due;
        }
        again
    }

    /// What an observer of committed records sees of each key, whatever happens to the instances: each count once, in
    /// order.
    pub(super) fn assert_exact(&self, seed: u64) {
        for (key, times) in expected() {
            let exact: Vec<i64> = (0..times).map(|time| time % FORGET_AT + 1).collect();
            assert_eq!(self.sent.get(&key), Some(&exact), "seed {seed}: {key}");
        }
    }
}
