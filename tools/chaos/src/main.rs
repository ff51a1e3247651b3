//! Kills, freezes and robs processes of a counting application on Kafka, and looks whether it counts right.
//!
//! What it does, and how its report is read, is in README.md beside it. What may be here: the harm, and the judgement of
//! what came of it. What may not: anything that helps the application.
//!
//! - `options`, `plan`, `chance`: what is to be done, by seed. `storm` does it, to each `process` and to the broker.
//! - `count`: the application. `feed`: what comes in.
//! - `observe` reads what comes out, `model` says whether that is right; `verify` looks at states when nothing runs.
//! - `transactions`, `restores`: counted from the broker's log and from the processes' logs, for the `report`.
//! - `run` is the order of it all; `stuck` tells what there is to see when nothing goes on any more.

#[path = "../../../kproc/tests/broker/mod.rs"]
mod broker;
mod chance;
mod count;
mod feed;
mod model;
mod observe;
mod options;
mod plan;
mod process;
mod report;
mod restores;
mod run;
mod storm;
mod stuck;
mod transactions;
mod verify;

use std::process::ExitCode;

use broker::TestBroker;
use kproc::{Clock, SystemClock};
use options::Options;

/// The broker under attack, and a controller apart that is left in peace.
static BROKER: TestBroker = TestBroker::new(&["--apart"]);

const VIOLATED: u8 = 1;
const FAILED: u8 = 2;
const NO_BROKER: u8 = 3;

fn main() -> ExitCode {
    if let Err(error) = process::end_with_parent() {
        eprintln!("kproc-chaos: {error}");
        return ExitCode::from(FAILED);
    }
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_some_and(|job| job == "count") {
        return count::main(std::iter::once("kproc-chaos count".into()).chain(arguments));
    }
    let options = Options::parse(SystemClock::new().wall().as_millis().unsigned_abs() % 1_000_000);
    if options.plan {
        print!("{}", plan::show(&options));
        return ExitCode::SUCCESS;
    }
    attack(&options).unwrap_or_else(|failure| {
        eprintln!("kproc-chaos: {failure}");
        ExitCode::from(FAILED)
    })
}

fn attack(options: &Options) -> Result<ExitCode, run::Failure> {
    eprintln!("kproc-chaos: seed {}", options.seed);
    let Some(brokers) = BROKER.address() else {
        return Ok(ExitCode::from(NO_BROKER));
    };
    let directory = match &options.directory {
        Some(directory) => directory.clone(),
        None => tempfile::tempdir()?.keep(),
    };
    // Processes end with the thread that started them, so all are started by this one.
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let report = executor.block_on(run::run(options, brokers, &directory))?;
    println!("{}", report.text());
    if report.is_good() {
        if options.directory.is_none() {
            run::clean_up(&directory);
        }
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("kproc-chaos: states and logs are kept in {}", directory.display());
    Ok(ExitCode::from(VIOLATED))
}
