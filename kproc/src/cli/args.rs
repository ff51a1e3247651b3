//! The shape of the command line. Flags of settings are made from the table of settings.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, error::ErrorKind};

use crate::{
    app::App,
    config::{Setting, Settings, TABLE},
};

/// Flags of `run`, which is also what happens without a command.
const RUN_FLAGS: [&str; 7] = [
    "embedded",
    "feed",
    "feed-format",
    "feed-partial",
    "dump",
    "dump-state",
    "quiet",
];

/// What the command line asks for.
pub(crate) enum Action {
    Run(RunArgs),
    Load {
        feed: FeedArgs,
        quiet: bool,
    },
    Lag {
        json: bool,
    },
    /// Show what is needed, and what there is of it.
    Topics,
    /// Make the changelogs that are missing.
    CreateTopics,
    Reset(ResetArgs),
    Show(Show),
}

/// Something to be shown, without running anything.
pub(crate) enum Show {
    Topology,
    StateList,
    StateGet { store: String, key: String },
    StateScan { store: String, limit: Option<usize> },
}

/// What `run` was asked for.
#[derive(Debug, Default)]
pub(crate) struct RunArgs {
    pub(crate) embedded: bool,
    pub(crate) feed: FeedArgs,
    pub(crate) dumps: Vec<(String, String)>,
    pub(crate) state_dumps: Vec<(String, String)>,
    pub(crate) quiet: bool,
}

/// What is to be fed.
#[derive(Debug, Default)]
pub(crate) struct FeedArgs {
    /// `TOPIC=FILE`, in order.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) format: Option<FeedFormat>,
    pub(crate) partial: bool,
}

/// What `reset` was asked for.
#[derive(Debug, Default)]
pub(crate) struct ResetArgs {
    /// Where a topic begins, or (`None`) all others.
    pub(crate) to: Vec<(Option<String>, Where)>,
    pub(crate) yes: bool,
}

/// Where an input begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    Earliest,
    Latest,
}

/// How a fed file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedFormat {
    /// One value a line.
    Text,
    /// One record a line, as a JSON object.
    JsonLines,
}

impl App {
    /// The command line of this application.
    pub(crate) fn command(&self) -> Command {
        let run = Command::new("run")
            .about("Run the application (the default)")
            .args(run_args());
        let topology = Command::new("topology").about("Show what reads, writes and keeps what");
        let topics = Command::new("topics")
            .about("Show the topics that are needed, with partitions and settings; with --brokers, what there is of them and how to make the rest")
            .arg(
                Arg::new("create")
                    .long("create")
                    .help("Make the changelogs that are missing on Kafka, as the first start would")
                    .action(ArgAction::SetTrue),
            );
        let load = Command::new("load")
            .about(if self.demo.is_some() {
                "Write the program's own data, or files, to topics on Kafka; makes those that are missing, with unlimited retention"
            } else {
                "Write files to topics on Kafka; makes those that are missing, with unlimited retention"
            })
            .args(feed_args(""))
            .arg(quiet_arg());
        let lag = Command::new("lag")
            .about("Show how far the application is behind, as Kafka has it; also while it runs")
            .arg(switch("json", "Print JSON lines"));
        let reset = Command::new("reset")
            .about("Let the application begin anew: without state, changelogs and committed offsets. All instances must have stopped")
            .arg(
                Arg::new("to")
                    .long("to")
                    .value_name("[TOPIC=]WHERE")
                    .help(
                        "Where it begins, `earliest` or `latest`, in one topic or in all. Without it: as at its first \
                         start; topics between its processors at their ends",
                    )
                    .action(ArgAction::Append)
                    .value_parser(parse_to),
            )
            .arg(switch("yes", "Do it; without this, only say what would be done"));
        let store = || {
            Arg::new("store")
                .value_name("STORE")
                .help("`store`, or `processor/store`")
                .required(true)
        };
        let state = Command::new("state")
            .about("Look into local state; also while the application runs")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(Command::new("list").about("List the stores in the state directory"))
            .subcommand(
                Command::new("get")
                    .about("Print what is stored under a key, as JSON lines")
                    .arg(store())
                    .arg(
                        Arg::new("key")
                            .value_name("KEY")
                            .help("The key: its JSON form, or plain text")
                            .required(true),
                    ),
            )
            .subcommand(
                Command::new("scan")
                    .about("Print a whole store in key order, as JSON lines")
                    .arg(store())
                    .arg(
                        Arg::new("limit")
                            .long("limit")
                            .value_name("N")
                            .help("Stop after this many entries")
                            .value_parser(clap::value_parser!(usize)),
                    ),
            );
        let command = Command::new(self.id.to_string())
            .about(self.about.clone().unwrap_or_default())
            .after_help("A flag wins over its KPROC_… variable, the variable over the file, the file over the program.")
            .args_conflicts_with_subcommands(false)
            .disable_help_subcommand(true)
            .args(run_args())
            .args(common_args())
            .args(TABLE.iter().map(|setting| setting_arg(setting, &self.settings)))
            .subcommands([run, load, lag, reset, topology, topics, state]);
        match &self.version {
            Some(version) => command.version(version.clone()),
            None => command,
        }
    }
}

/// A flag without a value.
fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

/// A flag with two values, which may be given again.
fn pair(name: &'static str, value: &'static str, help: impl Into<String>) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .help(help.into())
        .action(ArgAction::Append)
        .value_parser(parse_pair)
}

fn quiet_arg() -> Arg {
    switch("quiet", "Show no progress")
}

/// `when`: in which case a file can be fed.
fn feed_args(when: &str) -> [Arg; 3] {
    [
        pair(
            "feed",
            "TOPIC=FILE",
            format!(
                "{when}Write a file to a topic (`-`: standard input). A `.jsonl` file has a record in each line, any \
                 other a value"
            ),
        ),
        Arg::new("feed-format")
            .long("feed-format")
            .value_name("FORMAT")
            .help("How to read fed files, whatever their names")
            .value_parser(PossibleValuesParser::new(["text", "jsonl"])),
        switch(
            "feed-partial",
            "If a line of a fed file is bad, take what came before it (and fail at the end)",
        ),
    ]
}

fn run_args() -> Vec<Arg> {
    let mut args = vec![switch(
        "embedded",
        "Run on a cluster inside this process: no Kafka is needed, and nothing is kept",
    )];
    args.extend(feed_args("With --embedded, before anything runs: "));
    args.extend([
        pair(
            "dump",
            "TOPIC=FILE",
            "With --embedded: write what a topic holds at the end to a file (`-`: standard output), as JSON lines",
        ),
        pair(
            "dump-state",
            "STORE=FILE",
            "With --embedded: write what a store holds at the end to a file, as JSON lines",
        ),
        quiet_arg(),
    ]);
    args.into_iter().map(|arg| arg.help_heading("Run")).collect()
}

fn common_args() -> Vec<Arg> {
    vec![
        Arg::new("config")
            .long("config")
            .value_name("FILE")
            .help("A TOML file with settings [env: KPROC_CONFIG]"),
        Arg::new("topic")
            .long("topic")
            .value_name("NAME=NAME")
            .help("Bind a topic of the program to another name in the cluster [env: KPROC_TOPICS]")
            .action(ArgAction::Append),
        Arg::new("property")
            .short('X')
            .value_name("PROPERTY=VALUE")
            .help("A property for the Kafka client, by librdkafka's name [env: KPROC_LIBRDKAFKA_…]")
            .action(ArgAction::Append),
        Arg::new("verbose")
            .short('v')
            .long("verbose")
            .help("Log more; twice: even more")
            .action(ArgAction::Count),
    ]
    .into_iter()
    .map(|arg| arg.global(true).help_heading("Settings"))
    .collect()
}

fn setting_arg(setting: &'static Setting, settings: &Settings) -> Arg {
    let doc = setting.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let default = (setting.show)(settings).map_or(String::new(), |value| format!(" [default: {value}]"));
    let help = format!("{doc} [env: {}]{default}", setting.variable());
    let arg = Arg::new(setting.name)
        .long(setting.flag())
        .value_name(setting.placeholder)
        .help(help)
        .help_heading("Settings")
        .global(true);
    match setting.choices {
        [] => arg,
        ["true", "false"] => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        choices => arg.value_parser(PossibleValuesParser::new(choices)),
    }
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.to_owned())),
        _ => Err("expected a name, `=` and a file, such as `words=input.txt`".into()),
    }
}

fn parse_to(text: &str) -> Result<(Option<String>, Where), String> {
    let (topic, place) = match text.split_once('=') {
        Some((topic, place)) => (Some(topic.to_owned()), place),
        None => (None, text),
    };
    match place {
        "earliest" => Ok((topic, Where::Earliest)),
        "latest" => Ok((topic, Where::Latest)),
        _ => Err("expected `earliest` or `latest`, after `TOPIC=` if it is for one topic".into()),
    }
}

/// Reads the command line: what to do, and the matches that settings are then taken from.
pub(crate) fn parse(
    mut command: Command,
    args: impl IntoIterator<Item = OsString>,
) -> Result<(Action, ArgMatches), clap::Error> {
    let matches = command.try_get_matches_from_mut(args)?;
    let Some((name, inner)) = matches.subcommand() else {
        return Ok((Action::Run(run_args_of(&[&matches])), matches));
    };
    if name == "run" {
        return Ok((Action::Run(run_args_of(&[&matches, inner])), matches.clone()));
    }
    if let Some(flag) = RUN_FLAGS.iter().find(|flag| {
        matches
            .value_source(flag)
            .is_some_and(|source| source == clap::parser::ValueSource::CommandLine)
    }) {
        let message = match name {
            "load" if inner.try_contains_id(flag).is_ok() => format!("write `--{flag}` after `load`"),
            _ => format!("`--{flag}` goes with `run`, not with `{name}`"),
        };
        return Err(command.error(ErrorKind::ArgumentConflict, message));
    }
    match name {
        "load" => {
            let (feed, quiet) = (feed_args_of(&[inner]), inner.get_flag("quiet"));
            return Ok((Action::Load { feed, quiet }, matches.clone()));
        }
        "topics" if inner.get_flag("create") => return Ok((Action::CreateTopics, matches)),
        "topics" => return Ok((Action::Topics, matches)),
        "lag" => {
            let json = inner.get_flag("json");
            return Ok((Action::Lag { json }, matches));
        }
        "reset" => {
            let to = inner.get_many("to").into_iter().flatten().cloned().collect();
            let yes = inner.get_flag("yes");
            return Ok((Action::Reset(ResetArgs { to, yes }), matches));
        }
        _ => {}
    }
    let text =
        |matches: &ArgMatches, name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    let show = match (name, inner.subcommand()) {
        ("topology", _) => Show::Topology,
        (_, Some(("get", get))) => Show::StateGet {
            store: text(get, "store"),
            key: text(get, "key"),
        },
        (_, Some(("scan", scan))) => Show::StateScan {
            store: text(scan, "store"),
            limit: scan.get_one("limit").copied(),
        },
        _ => Show::StateList,
    };
    Ok((Action::Show(show), matches))
}

/// What `run` was asked for by flags before and after the word `run`.
fn run_args_of(all: &[&ArgMatches]) -> RunArgs {
    RunArgs {
        embedded: switch_of(all, "embedded"),
        feed: feed_args_of(all),
        dumps: pairs_of(all, "dump"),
        state_dumps: pairs_of(all, "dump-state"),
        quiet: switch_of(all, "quiet"),
    }
}

/// What is to be fed.
fn feed_args_of(all: &[&ArgMatches]) -> FeedArgs {
    let format = all
        .iter()
        .rev()
        .find_map(|matches| matches.get_one::<String>("feed-format"));
    FeedArgs {
        files: pairs_of(all, "feed"),
        format: format.map(|name| {
            if name == "text" {
                FeedFormat::Text
            } else {
                FeedFormat::JsonLines
            }
        }),
        partial: switch_of(all, "feed-partial"),
    }
}

fn switch_of(all: &[&ArgMatches], name: &str) -> bool {
    all.iter().any(|matches| matches.get_flag(name))
}

fn pairs_of(all: &[&ArgMatches], name: &str) -> Vec<(String, String)> {
    let pairs = all.iter().filter_map(|matches| matches.get_many(name));
    pairs.flatten().cloned().collect()
}
