//! The whole job.

use std::{collections::BTreeMap, path::Path};

use flights::{Delays, Totals};
use kproc::Clock;

use crate::{
    batch::{aircraft_totals, assert_same, hourly_delays},
    broker::TestBroker,
    kit::{Kafka, Program, ask, block_on},
};

static BROKER: TestBroker = TestBroker::new(&[]);

const FLIGHTS: usize = 336_776;

/// Has processes work on all that is loaded, with state in these directories.
async fn work(kafka: &Kafka, states: &[&Path]) {
    let begin = kafka.clock.now();
    let mut programs: Vec<_> = states.iter().map(|state| Program::start(kafka, state)).collect();
    kafka
        .caught_up(&mut programs.iter_mut().collect::<Vec<_>>())
        .await;
    let took = kafka.clock.now().saturating_sub(begin);
    println!("{} processes were done in {took:?}", states.len());
    if let [state] = states {
        let refused = ask(kafka, "reset", &["--yes", "--state-dir", state.to_str().unwrap()]);
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{errors}");
        assert!(errors.contains("Stop all instances first"), "{errors}");
    }
    for program in programs {
        assert!(program.stop().success());
    }
}

/// What has come out in so many runs equals the answers.
async fn check(kafka: &Kafka, runs: usize) {
    let hours: Vec<(String, Delays)> = kafka.consume("hourly-delays").await;
    // Each flight has updated its hour once, in each run.
    assert_eq!(hours.len(), runs * FLIGHTS);
    let hours = hours.into_iter();
    let hours = hours.map(|(key, delays)| (serde_json::from_str(&key).unwrap(), delays));
    assert_same(&hours.collect(), &hourly_delays());
    let aircraft: BTreeMap<String, Totals> = kafka.consume("aircraft-totals").await.into_iter().collect();
    assert_same(&aircraft, &aircraft_totals());
}

/// One process finds the answers; after a reset three do.
#[test]
fn one_process_and_after_a_reset_three_find_the_answers() {
    let Some(brokers) = BROKER.address() else { return };
    block_on(async {
        let kafka = Kafka::new(brokers);
        let loaded = ask(&kafka, "load", &["--partitions", "8"]);
        assert!(
            loaded.status.success(),
            "{}",
            String::from_utf8_lossy(&loaded.stderr)
        );
        let states = [(); 4].map(|()| tempfile::tempdir().unwrap());
        let states = states.each_ref().map(tempfile::TempDir::path);
        work(&kafka, &states[..1]).await;
        check(&kafka, 1).await;

        let elsewhere = ["--state-dir", states[3].to_str().unwrap()];
        let shown = ask(&kafka, "reset", &elsewhere);
        let plan = String::from_utf8_lossy(&shown.stderr);
        assert_eq!(shown.status.code(), Some(2), "{plan}");
        for wanted in [
            "changelog `flights-hourly-delays-hours-changelog` is deleted",
            "topic `flights` is read from anew at its first record\n",
            "topic `flights-by-aircraft` is read from anew at its end; the application itself writes it\n",
            "Nothing was changed",
        ] {
            assert!(plan.contains(wanted), "{wanted:?} is not in:\n{plan}");
        }
        let reset = ask(&kafka, "reset", &[&elsewhere[..], &["--yes"]].concat());
        assert!(
            reset.status.success(),
            "{}",
            String::from_utf8_lossy(&reset.stderr)
        );
        work(&kafka, &states[1..]).await;
        check(&kafka, 2).await;
    });
}
