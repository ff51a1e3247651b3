//! What a run is told.

use std::{path::PathBuf, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, value_parser};

/// See `--help`.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) kills: u64,
    pub(crate) broker_harm: u64,
    pub(crate) processes: usize,
    pub(crate) partitions: u32,
    pub(crate) keys: u64,
    pub(crate) preload: bool,
    pub(crate) rate: u64,
    /// What the application is told to do.
    pub(crate) processing: Processing,
    /// What it is judged by.
    pub(crate) judged: Processing,
    pub(crate) session: Duration,
    pub(crate) transaction: Duration,
    pub(crate) patience: Duration,
    /// Only say what would be done.
    pub(crate) plan: bool,
    /// Where states and logs are kept, for a look at them afterwards.
    pub(crate) directory: Option<PathBuf>,
}

/// The two ways of processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processing {
    ExactlyOnce,
    AtLeastOnce,
}

impl Processing {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ExactlyOnce => "exactly_once",
            Self::AtLeastOnce => "at_least_once",
        }
    }
}

impl Options {
    /// Reads the command line. Without a seed, that of `now` is taken.
    pub(crate) fn parse(now: u64) -> Self {
        let matches = command().get_matches();
        let number = |name: &str| *matches.get_one::<u64>(name).expect("it has a default");
        let seconds = |name: &str| Duration::from_secs(number(name));
        let processing = named(&matches, "processing").unwrap_or(Processing::ExactlyOnce);
        Self {
            seed: matches.get_one("seed").copied().unwrap_or(now),
            time: seconds("time"),
            kills: number("kills"),
            broker_harm: number("broker-harm"),
            processes: number("processes") as usize,
            partitions: number("partitions") as u32,
            keys: number("keys"),
            preload: matches.get_flag("preload"),
            rate: number("rate"),
            processing,
            judged: named(&matches, "judge").unwrap_or(processing),
            session: seconds("session"),
            transaction: seconds("transaction"),
            patience: seconds("patience"),
            plan: matches.get_flag("plan"),
            directory: matches.get_one("dir").cloned(),
        }
    }
}

fn named(matches: &ArgMatches, name: &str) -> Option<Processing> {
    let text: &String = matches.get_one(name)?;
    [Processing::ExactlyOnce, Processing::AtLeastOnce]
        .into_iter()
        .find(|processing| processing.name() == text)
}

fn command() -> Command {
    let number = |name: &'static str, least: u64, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .help(help)
            .default_value(default)
            .value_parser(value_parser!(u64).range(least..))
    };
    let names = [Processing::ExactlyOnce, Processing::AtLeastOnce].map(Processing::name);
    let processing = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("CHOICE")
            .help(help)
            .value_parser(PossibleValuesParser::new(names))
    };
    let switch = |name, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    Command::new("kproc-chaos")
        .about("Kills, freezes and robs processes of a counting application on Kafka, and looks whether it counts right")
        .after_help(
            "Exit code: 0 nothing lost and nothing twice, 1 a violation, 2 it could not be tried, 3 there is no broker.\n\
             `kproc-chaos count …` is the application itself.",
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .help("What happens when; by default another one each time")
                .value_parser(value_parser!(u64)),
        )
        .args([
            number("time", 0, "110", "Seconds of harm, at least"),
            number("kills", 0, "0", "Go on until processes were killed so often"),
            number("broker-harm", 0, "0", "Go on until the broker was killed or restarted so often"),
            number("processes", 1, "3", "Processes of the application"),
            number("partitions", 1, "6", "Partitions of its topics"),
            number("keys", 1, "500", "Keys there are"),
            number("rate", 1, "300", "Records written in a second"),
            number("session", 1, "3", "Its session time-out, in seconds"),
            number("transaction", 1, "6", "Its transaction time-out, in seconds"),
            number("patience", 1, "180", "Seconds without any progress, with nobody doing harm, that count as stuck"),
        ])
        .args([
            processing(
                "processing",
                "How the application processes; with at_least_once only losses count, and repetitions are told",
            )
            .default_value("exactly_once"),
            processing("judge", "Judge it by another measure, to see that mistakes are found"),
        ])
        .args([
            switch("preload", "Begin with a record of each key: a large store, if there are many"),
            switch("plan", "Show what the seed would do first, and do nothing"),
        ])
        .arg(
            Arg::new("dir")
                .long("dir")
                .value_name("DIR")
                .help("Keep states and logs there; by default they are kept only if something went wrong")
                .value_parser(value_parser!(PathBuf)),
        )
}
