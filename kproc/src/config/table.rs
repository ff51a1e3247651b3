//! The settings there are.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use super::{Properties, Size, WithoutCredentials, value::Value};
use crate::policy::{MissingTimestamp, Policy};

/// One row of the table: what a flag, a variable, a TOML key and a line of `--help` are made of.
pub(crate) struct Setting {
    /// The name: the key in TOML. Flag and variable are spelled after it.
    pub(crate) name: &'static str,
    /// What it means, in lines.
    pub(crate) doc: &'static str,
    /// What stands for its value in `--help`.
    pub(crate) placeholder: &'static str,
    /// The values there are, if they are few.
    pub(crate) choices: &'static [&'static str],
    /// Reads the value from its text.
    pub(crate) set: fn(&mut Settings, &str) -> Result<(), String>,
    /// The text of the value.
    pub(crate) show: fn(&Settings) -> Option<String>,
}

impl Setting {
    /// The setting of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|setting| setting.name == name)
    }

    /// The flag without its dashes: `commit-interval`.
    pub(crate) fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// The variable: `KPROC_COMMIT_INTERVAL`.
    pub(crate) fn variable(&self) -> String {
        format!("KPROC_{}", self.name.to_ascii_uppercase())
    }
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)*) => {
        /// How an application runs. `Default` is what holds where nothing was said.
        ///
        /// A program sets what it wants to differ by [`App::configure`](crate::App::configure); whoever starts
        /// it has the last word, by flags, `KPROC_…` variables and a TOML file.
        #[derive(Clone, PartialEq)]
        #[non_exhaustive]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $name: $type,)*
            /// Names of topics in the cluster, by their names in the program, where these differ.
            pub topics: BTreeMap<String, String>,
            /// Properties for the Kafka client, by librdkafka's names. They win over kproc's defaults; those that kproc
            /// must own are refused.
            pub librdkafka: Properties,
        }

        /// Shows no secrets.
        impl fmt::Debug for Settings {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("Settings")
                    $(.field(stringify!($name), &WithoutCredentials(&self.$name)))*
                    .field("topics", &self.topics)
                    .field("librdkafka", &self.librdkafka)
                    .finish()
            }
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($name: $default,)* topics: BTreeMap::new(), librdkafka: Properties::default() }
            }
        }

        /// All settings, in the order of `--help`.
        pub(crate) const TABLE: &[Setting] = &[$(Setting {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),+),
            placeholder: <$type as Value>::PLACEHOLDER,
            choices: <$type as Value>::CHOICES,
            set: |settings, text| {
                settings.$name = Value::parse(text)?;
                Ok(())
            },
            show: |settings| settings.$name.show(),
        }),*];
    };
}

settings! {
    /// Addresses of Kafka brokers, `host:port`, with commas between.
    brokers: Vec<String> = Vec::new();
    /// How many threads process records. By default one per processor core.
    threads: usize = std::thread::available_parallelism().map_or(1, usize::from);
    /// Where local state is kept: a directory on a local disk, one per running process. By default
    /// `kproc-state`; with `--embedded` a temporary directory.
    state_dir: Option<PathBuf> = None;
    /// What a failure may do to results: `at_least_once` may count a record twice after a crash; `exactly_once` commits
    /// in transactions.
    processing: Processing = Processing::AtLeastOnce;
    /// How often state, outputs and positions are committed. By default `1s`, and `100ms` with `exactly_once`, where
    /// outputs cannot be seen before.
    commit_interval: Option<Duration> = None;
    /// With `exactly_once`: a commit that takes longer is aborted by the brokers. What a process that dies in the middle
    /// of one has written holds back readers for so long, at most.
    transaction_timeout: Duration = Duration::from_secs(30);
    /// How long a task waits for an input that has no records, so as to merge it by timestamp with the others.
    max_task_idle: Duration = Duration::ZERO;
    /// A record whose timestamp is further ahead of the wall clock than this does not move stream time.
    max_ahead: Option<Duration> = None;
    /// What to do with a record whose key or value cannot be read: `stop`, `skip`, `retry`, or as in
    /// `retry:5:100ms:skip`: five times, the first after 100 ms and each next after twice as long, then `skip`.
    on_deserialization_error: Policy = Policy::Stop;
    /// What to do with a record whose handler fails.
    on_processing_error: Policy = Policy::Stop;
    /// What to do with a record whose handler panics.
    on_panic: Policy = Policy::Stop;
    /// What to do with a record that has no timestamp.
    missing_timestamp: MissingTimestamp = MissingTimestamp::Fail;
    /// How long a stop may take. After that, what has not finished is abandoned.
    stop_timeout: Duration = Duration::from_secs(30);
    /// A handler that takes longer than this for one record, or waits longer, makes the process leave its group and
    /// fail, so that others take over.
    stuck_after: Duration = Duration::from_secs(300);
    /// A process that is silent for this long loses its partitions to others.
    session_timeout: Duration = Duration::from_secs(45);
    /// How often a process tells its group that it is there, and hears whether partitions move: a rebalance takes
    /// one to two of these. At most a third of `session_timeout`; by default a ninth of it.
    heartbeat_interval: Option<Duration> = None;
    /// Memory for records on their way: read ahead, waiting to be written, not yet committed.
    memory: Size = Size(256 << 20);
    /// Keep a checksum with every stored value, and check it when the value is read.
    checksum: bool = false;
    /// How many partitions topics get that are made for a run with `--embedded`, or by `load`.
    partitions: u32 = 1;
    /// What to log: a level (`error`, `warn`, `info`, `debug`, `trace`) or `target=level,…`. By default `info`.
    log: Option<String> = None;
    /// How to write log lines.
    log_format: LogFormat = LogFormat::Text;
}

/// An enum of settings, and how its variants are spelled.
macro_rules! choice {
    ($(#[$meta:meta])* enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$variant_meta])* $variant,)* }

        choice! { impl for $name { $($variant = $text,)* } }
    };
    (impl for $name:ident { $($variant:ident = $text:literal,)* }) => {
        impl Value for $name {
            const PLACEHOLDER: &'static str = "CHOICE";
            const CHOICES: &'static [&'static str] = &[$($text),*];

            fn parse(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(format!("expected one of: {}", Self::CHOICES.join(", "))),
                }
            }

            fn show(&self) -> Option<String> {
                Some(match self { $(Self::$variant => $text,)* }.to_owned())
            }
        }
    };
}

choice! {
    /// What a failure may do to results.
    enum Processing {
        /// Nothing is lost; after a crash, what was processed since the last commit is processed again.
        AtLeastOnce = "at_least_once",
        /// Every record counts exactly once, whatever fails: outputs, changelogs and positions are committed in one
        /// transaction. Readers of outputs must be set to read committed records only.
        ExactlyOnce = "exactly_once",
    }
}

choice! {
    impl for MissingTimestamp {
        Fail = "fail",
        Skip = "skip",
        StreamTime = "stream_time",
        WallClock = "wall_clock",
    }
}

choice! {
    /// How log lines are written.
    enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object per line.
        Json = "json",
    }
}
