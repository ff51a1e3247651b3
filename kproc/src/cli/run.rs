//! `run`: on which cluster, and what must be asked for before anything is opened.

use super::{args::RunArgs, embedded, failure::Failure, kafka, names};
use crate::{app::App, config::Settings};

/// Runs the application.
pub(crate) fn run(app: App, settings: &Settings, args: &RunArgs) -> Result<(), Failure> {
    if settings.brokers.is_empty() && (args.embedded || app.demo.is_some()) {
        return embedded::run(app, settings, args);
    }
    if args.embedded {
        return Err(Failure::usage(
            "`--embedded` runs without Kafka, and there are brokers in the settings, too: leave out one of the two",
        ));
    }
    if !args.feed.files.is_empty() {
        return Err(Failure::usage(
            "`--feed` goes with `--embedded`; on Kafka, `load --feed` writes files to topics, with or without the \
             application running",
        ));
    }
    for (flag, given) in [
        ("dump", !args.dumps.is_empty()),
        ("dump-state", !args.state_dumps.is_empty()),
    ] {
        if given {
            return Err(Failure::usage(format!("`--{flag}` goes with `--embedded`")));
        }
    }
    if settings.brokers.is_empty() {
        let id = &app.id;
        return Err(Failure::usage(format!(
            "there is no cluster to run on. Two ways on:\n  \
             {id} run --brokers HOST:PORT     on Kafka (also by KPROC_BROKERS, or `brokers` in a --config file)\n  \
             {id} run --embedded              on a cluster inside this process, which needs no Kafka; feed it with \
             `--feed TOPIC=FILE` and see what comes out with `--dump TOPIC=FILE`"
        )));
    }
    // What it binds must be there; the cluster would only say that a topic is not.
    let topology = names::topology(&app, settings)?;
    names::warn_of_unknown(&app, settings, &topology);
    kafka::run(app, settings, args.quiet)
}
