//! The whole job.

use std::collections::BTreeMap;

use flights::{Delays, Totals};
use kproc::Clock;

use crate::{
    batch::{aircraft_totals, assert_same, hourly_delays},
    broker::TestBroker,
    kit::{Kafka, Program, ask, block_on},
};

/// One for each test: the program's group and changelogs have the same names in all of them.
static ONE: TestBroker = TestBroker::new(&[]);
static THREE: TestBroker = TestBroker::new(&[]);

/// Loads all flights, has so many processes work on them, and compares what comes out with the answers.
async fn all_flights(kafka: &Kafka, processes: usize) {
    let loaded = ask(kafka, "load", &["--partitions", "8"]);
    assert!(
        loaded.status.success(),
        "{}",
        String::from_utf8_lossy(&loaded.stderr)
    );
    let states = vec![(); processes];
    let states: Vec<_> = states.iter().map(|()| tempfile::tempdir().unwrap()).collect();
    let begin = kafka.clock.now();
    let mut programs: Vec<_> = states
        .iter()
        .map(|state| Program::start(kafka, state.path()))
        .collect();
    kafka
        .caught_up(&mut programs.iter_mut().collect::<Vec<_>>())
        .await;
    let took = kafka.clock.now() - begin;
    println!(
        "{processes} processes: 674362 records in {took:?}, {:.0} a second",
        674_362.0 / took.as_secs_f64()
    );
    for program in programs {
        assert!(program.stop().success());
    }
    let hours: Vec<(String, Delays)> = kafka.consume("hourly-delays").await;
    // Each flight has updated its hour once.
    assert_eq!(hours.len(), 336_776);
    let hours = hours
        .into_iter()
        .map(|(key, delays)| (serde_json::from_str(&key).unwrap(), delays));
    assert_same(&hours.collect(), &hourly_delays());
    let aircraft: BTreeMap<String, Totals> = kafka.consume("aircraft-totals").await.into_iter().collect();
    assert_same(&aircraft, &aircraft_totals());
}

#[test]
fn one_process_finds_the_answers() {
    let Some(brokers) = ONE.address() else { return };
    block_on(async { all_flights(&Kafka::new(brokers), 1).await });
}

#[test]
fn three_processes_find_the_answers() {
    let Some(brokers) = THREE.address() else { return };
    block_on(async { all_flights(&Kafka::new(brokers), 3).await });
}
