//! Three processes come and go at random while flights come in.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use flights::{Delays, Totals};

use crate::{
    batch::assert_same,
    broker::TestBroker,
    chance::Chance,
    kit::{Kafka, Program, block_on, hour},
    part::Part,
};

/// One for each test: the program's group and changelogs have the same names in all of them.
static CLEAN: TestBroker = TestBroker::new(&[]);
static KILLED: TestBroker = TestBroker::new(&[]);

const PARTITIONS: u32 = 8;
/// So many flights come in a second, a tenth of them at a time.
const FLIGHTS_A_SECOND: usize = 2_000;
const TENTH: Duration = Duration::from_millis(100);

/// How long it goes on: `KPROC_HANDOVER_SECONDS`, or a little while.
fn length() -> Duration {
    let seconds = std::env::var("KPROC_HANDOVER_SECONDS").ok();
    Duration::from_secs(seconds.map_or(12, |text| text.parse().unwrap()))
}

/// What the processes have written, and what they should have.
struct Outcome {
    part: Part,
    hours: Vec<(String, Delays)>,
    aircraft: Vec<(String, Totals)>,
}

/// Lets processes come and go while flights come in; at the end all work off what is left. `kills`: some are killed, not
/// stopped.
fn come_and_go(kafka: &Kafka, kills: bool) -> Outcome {
    let start = if kills {
        Program::start_mortal
    } else {
        Program::start
    };
    let part = Part::first(length().as_secs() as usize * FLIGHTS_A_SECOND);
    block_on(async {
        kafka.make_topics(PARTITIONS).await;
        kafka.write([part.planes()], Duration::ZERO).await;
    });
    let states = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let mut programs: [Option<Program>; 3] = [None, None, None];
    std::thread::scope(|scope| {
        let flights = part.flights(FLIGHTS_A_SECOND / 10);
        let writing = scope.spawn(|| block_on(kafka.write(flights, TENTH)));
        let mut chance = Chance::new(kafka);
        let (mut starts, mut stops, mut deaths) = (0, 0, 0);
        while !writing.is_finished() {
            let number = chance.below(3) as usize;
            match programs[number].take() {
                None => {
                    programs[number] = Some(start(kafka, states[number].path()));
                    starts += 1;
                }
                Some(program) if kills && chance.below(2) == 0 => {
                    program.kill();
                    deaths += 1;
                }
                Some(program) => {
                    assert!(program.stop().success());
                    stops += 1;
                }
            }
            block_on(kafka.pause(Duration::from_millis(chance.below(1_500))));
        }
        println!("{starts} starts, {stops} stops, {deaths} deaths");
        writing.join().unwrap();
    });
    for (program, state) in programs.iter_mut().zip(&states) {
        program.get_or_insert_with(|| start(kafka, state.path()));
    }
    let mut programs: Vec<_> = programs.into_iter().flatten().collect();
    block_on(kafka.caught_up(&mut programs.iter_mut().collect::<Vec<_>>()));
    for program in programs {
        assert!(program.stop().success());
    }
    let (mut hours, mut aircraft) = (Vec::new(), Vec::new());
    block_on(async {
        hours = kafka.consume("hourly-delays").await;
        aircraft = kafka.consume("aircraft-totals").await;
    });
    Outcome {
        part,
        hours,
        aircraft,
    }
}

/// Every key is there, and its counts are at least what they should be.
#[track_caller]
fn assert_nothing_missing<K: Ord + Debug, V: Debug>(
    found: &BTreeMap<K, V>,
    wanted: &BTreeMap<K, V>,
    counts: impl Fn(&V) -> Vec<u64>,
) {
    for (key, wanted) in wanted {
        let found = found.get(key);
        let enough =
            found.is_some_and(|found| counts(found).iter().zip(counts(wanted)).all(|(f, w)| *f >= w));
        assert!(enough, "{key:?}: {found:?}, and should be at least {wanted:?}");
    }
    let surplus = found.keys().find(|key| !wanted.contains_key(key));
    assert!(surplus.is_none(), "{surplus:?} is not among the answers");
}

/// Scenarios C13, C16, G07: as all stop cleanly, every flight counts once, and the counts of an hour are written in
/// order.
#[test]
fn g07_every_count_is_exact_while_processes_come_and_go() {
    let Some(brokers) = CLEAN.address() else { return };
    let outcome = come_and_go(&Kafka::new(brokers), false);
    let answers = outcome.part.answers();
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (key, delays) in &outcome.hours {
        let count = counts.entry(hour(key)).or_default();
        *count += 1;
        assert_eq!(
            delays.flights, *count,
            "{key}: a flight was counted twice, or passed over"
        );
    }
    let found = outcome
        .hours
        .into_iter()
        .map(|(key, delays)| (hour(&key), delays));
    assert_same(&found.collect(), &answers.hours);
    assert_same(&outcome.aircraft.into_iter().collect(), &answers.aircraft);
}

/// Scenario C08 and promise 2: whatever is killed, nothing is missing.
#[test]
fn c08_nothing_is_missing_while_processes_are_killed() {
    let Some(brokers) = KILLED.address() else { return };
    let outcome = come_and_go(&Kafka::new(brokers), true);
    let answers = outcome.part.answers();
    let found = outcome
        .hours
        .into_iter()
        .map(|(key, delays)| (hour(&key), delays));
    assert_nothing_missing(&found.collect(), &answers.hours, |delays| {
        vec![delays.flights, delays.cancelled]
    });
    let found = outcome.aircraft.into_iter().collect();
    assert_nothing_missing(&found, &answers.aircraft, |totals| {
        vec![totals.flights, totals.miles, totals.air_min]
    });
}
