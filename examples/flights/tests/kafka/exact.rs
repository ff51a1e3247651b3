//! With transactions: whatever happens to processes, each flight counts once, for who reads committed records, and in state.

use std::{collections::BTreeMap, path::Path, time::Duration};

use flights::{Delays, Totals};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use tempfile::TempDir;

use crate::{
    batch::assert_same,
    broker::TestBroker,
    chance::Chance,
    kit::{Kafka, Program, ask, block_on, hour},
    part::{Answers, Part},
};

static BROKER: TestBroker = TestBroker::new(&[]);

const PARTITIONS: u32 = 8;
const FLIGHTS_A_SECOND: usize = 2_000;
const TENTH: Duration = Duration::from_millis(100);
/// The last flights, which the last process finds alone.
const LAST: usize = 2_000;

/// How many flights: `KPROC_EXACT_FLIGHTS` (there are 336,776), or as many as come in a little while.
fn flights() -> usize {
    let number = std::env::var("KPROC_EXACT_FLIGHTS").ok();
    number.map_or(24_000, |text| text.parse().unwrap())
}

/// What happens to a process.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    Killed,
    /// For longer than a session: others get its partitions, and it comes back and does not know that.
    Frozen,
    /// Killed, and its directory is empty when it comes back, as on another machine.
    Wiped,
}

/// One after another, again and again: whose turn it is, and what comes to it.
const TROUBLES: [(usize, Trouble); 5] = [
    (0, Trouble::Killed),
    (1, Trouble::Frozen),
    (2, Trouble::Killed),
    (0, Trouble::Wiped),
    (1, Trouble::Killed),
];

/// Three processes with a directory each.
struct Three<'k> {
    kafka: &'k Kafka,
    states: [TempDir; 3],
    programs: Vec<Program>,
}

impl<'k> Three<'k> {
    fn start(kafka: &'k Kafka) -> Self {
        let states = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let programs = states
            .iter()
            .map(|state| Program::start_exact(kafka, state.path()))
            .collect();
        Self {
            kafka,
            states,
            programs,
        }
    }

    /// What happens to a process; it is back when this returns.
    fn befalls(&mut self, number: usize, trouble: Trouble, away: Duration) {
        let pause = |time| block_on(self.kafka.pause(time));
        if let Trouble::Frozen = trouble {
            self.programs[number].freeze();
            pause(Duration::from_secs(3) + away);
            self.programs[number].thaw();
            return;
        }
        self.programs.remove(number).kill();
        if let Trouble::Wiped = trouble {
            self.states[number] = tempfile::tempdir().unwrap();
        }
        pause(away);
        let again = Program::start_exact(self.kafka, self.states[number].path());
        self.programs.insert(number, again);
    }

    fn caught_up(&mut self) {
        let mut programs: Vec<_> = self.programs.iter_mut().collect();
        block_on(self.kafka.caught_up(&mut programs));
    }
}

/// An entry of a store.
#[derive(Deserialize)]
struct Entry<K, V> {
    key: K,
    value: V,
}

/// What a store holds, of all partitions.
fn scan<K: DeserializeOwned + Ord, V: DeserializeOwned>(
    kafka: &Kafka,
    state: &Path,
    store: &str,
) -> BTreeMap<K, V> {
    let scanned = ask(
        kafka,
        "state",
        &["scan", store, "--state-dir", state.to_str().unwrap()],
    );
    let errors = String::from_utf8_lossy(&scanned.stderr);
    assert!(scanned.status.success(), "{errors}");
    let text = String::from_utf8(scanned.stdout).unwrap();
    let mut entries = BTreeMap::new();
    for line in text.lines() {
        let entry: Entry<K, V> = serde_json::from_str(line).unwrap();
        assert!(entries.insert(entry.key, entry.value).is_none(), "twice: {line}");
    }
    entries
}

/// What is kept for an aircraft.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Flown {
    flights: u64,
    miles: u64,
    air_min: u64,
}

/// Updates come one by one: with the n-th of a key it has n flights.
#[track_caller]
fn assert_each_once<'r>(updates: impl Iterator<Item = (&'r String, u64)>) {
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    for (key, flights) in updates {
        let count = counts.entry(key).or_default();
        *count += 1;
        assert_eq!(flights, *count, "{key}: a flight is missing, or there twice");
    }
}

/// What whoever reads committed records has seen.
fn check_topics(kafka: &Kafka, answers: &Answers) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let hours: Vec<(String, Delays)> = kafka.consume_committed("hourly-delays");
            assert_each_once(hours.iter().map(|(key, delays)| (key, delays.flights)));
            let last = hours.into_iter().map(|(key, delays)| (hour(&key), delays));
            assert_same(&last.collect(), &answers.hours);
        });
        scope.spawn(|| {
            let aircraft: Vec<(String, Totals)> = kafka.consume_committed("aircraft-totals");
            assert_each_once(aircraft.iter().map(|(key, totals)| (key, totals.flights)));
            assert_same(&aircraft.into_iter().collect(), &answers.aircraft);
        });
        let mut by_aircraft = BTreeMap::new();
        for (key, _) in kafka.consume_committed::<IgnoredAny>("flights-by-aircraft") {
            *by_aircraft.entry(key).or_default() += 1;
        }
        assert_same(&by_aircraft, &answers.by_aircraft);
    });
}

/// What a process that has all partitions keeps.
fn check_state(kafka: &Kafka, state: &Path, answers: &Answers) {
    assert_same(&scan(kafka, state, "hours"), &answers.hours);
    assert_same(&scan(kafka, state, "without_aircraft"), &answers.without_aircraft);
    let flown = answers.aircraft.iter().map(|(key, totals)| {
        let Totals {
            flights,
            miles,
            air_min,
            ..
        } = *totals;
        let flown = Flown {
            flights,
            miles,
            air_min,
        };
        (key.clone(), flown)
    });
    assert_same(&scan(kafka, state, "flown"), &flown.collect());
}

/// Section E and promise 1: three processes are killed, frozen past their session, and lose their directory, in turn, while
/// flights come in. What comes out equals the answers, each update once, and so does the state.
#[test]
fn every_flight_counts_once_whatever_happens_to_processes() {
    let Some(brokers) = BROKER.address() else { return };
    let kafka = Kafka::new(brokers);
    let part = Part::first(flights());
    let answers = part.answers();
    let mut pieces: Vec<_> = part.flights(FLIGHTS_A_SECOND / 10).collect();
    let last = pieces.split_off(pieces.len() - LAST / (FLIGHTS_A_SECOND / 10));
    block_on(async {
        kafka.make_topics(PARTITIONS).await;
        kafka.write([part.planes()], Duration::ZERO).await;
    });
    let mut three = Three::start(&kafka);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| block_on(kafka.write(pieces, TENTH)));
        let mut chance = Chance::new(&kafka);
        let mut troubles = 0;
        for (number, trouble) in TROUBLES.into_iter().cycle() {
            if writing.is_finished() && troubles >= TROUBLES.len() {
                break;
            }
            block_on(kafka.pause(Duration::from_millis(500 + chance.below(2_000))));
            three.befalls(number, trouble, Duration::from_millis(chance.below(1_500)));
            troubles += 1;
        }
        println!("{troubles} troubles");
        writing.join().unwrap();
    });
    three.caught_up();
    // The last one takes over what the others had, and finds the rest.
    for program in three.programs.drain(1..) {
        assert!(program.stop().success());
    }
    block_on(kafka.write(last, Duration::ZERO));
    three.caught_up();
    check_topics(&kafka, &answers);
    for program in three.programs.drain(..) {
        assert!(program.stop().success());
    }
    check_state(&kafka, three.states[0].path(), &answers);
}
