//! Where settings come from, and who wins.

use std::{fmt, path::Path, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{ConfigError, ConfigProblem, Setting, Settings, TABLE};

/// Where one value came from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// A line of a TOML file.
    File(String, usize),
    /// An environment variable.
    Variable(String),
    /// A flag, without its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, line) => write!(f, "{path}:{line}"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) if name.chars().count() == 1 => write!(f, "-{name}"),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// Settings on their way: layers are laid on in rising order of precedence, and all problems are kept.
pub(crate) struct Layers {
    settings: Settings,
    problems: Vec<ConfigProblem>,
}

/// librdkafka's shortest `transaction.timeout.ms`.
const SHORTEST_TRANSACTION: Duration = Duration::from_secs(1);

/// Tables of a TOML file beside the settings proper.
const TABLES: [&str; 2] = ["topics", "librdkafka"];

impl Layers {
    /// Begins with what the program says.
    pub(crate) fn over(settings: Settings) -> Self {
        Self {
            settings,
            problems: Vec::new(),
        }
    }

    /// Lays on a TOML file.
    pub(crate) fn file(&mut self, path: &Path) {
        let place = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => self.toml(&place, &text),
            Err(error) => self.problem(place, format!("cannot be read: {error}")),
        }
    }

    /// Lays on the text of a TOML file.
    pub(crate) fn toml(&mut self, path: &str, text: &str) {
        let at = |offset: usize| Origin::File(path.to_owned(), 1 + text[..offset].matches('\n').count());
        // toml's own message quotes the line, and a line may hold a secret: only its first part is used.
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                return self.problem(
                    at(start).to_string(),
                    format!("this is not TOML: {}", error.message()),
                );
            }
        };
        for (key, value) in &table {
            let origin = at(key.span().start);
            match (key.get_ref().as_ref(), value.get_ref()) {
                (name @ ("topics" | "librdkafka"), DeValue::Table(inner)) => {
                    let mut pairs = Vec::new();
                    flatten("", inner, &mut pairs);
                    for (key, value, offset) in pairs {
                        self.pair(name, &key, value, &at(offset));
                    }
                }
                (name @ ("topics" | "librdkafka"), _) => {
                    self.problem(
                        origin.to_string(),
                        format!("`{name}` is a table: begin it with a line `[{name}]`"),
                    );
                }
                (name, value) => match (Setting::named(name), text_of(value)) {
                    (None, _) => {
                        let known = TABLE.iter().map(|setting| setting.name).chain(TABLES);
                        let what = format!("unknown setting `{name}`{}", did_you_mean(nearest(name, known)));
                        self.problem(origin.to_string(), what);
                    }
                    (Some(setting), Some(text)) => self.set(setting, &text, &origin),
                    (Some(setting), None) => {
                        self.problem(
                            origin.to_string(),
                            format!("`{}` takes one value, not a {}", setting.name, value.type_str()),
                        );
                    }
                },
            }
        }
    }

    /// Lays on those of these variables that begin with `KPROC_`.
    pub(crate) fn variables(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        for (name, value) in variables {
            let Some(rest) = name.strip_prefix("KPROC_") else {
                continue;
            };
            // `KPROC_CONFIG` was looked at before: it says which file to read.
            if rest == "CONFIG" {
                continue;
            }
            let origin = Origin::Variable(name.clone());
            if let Some(setting) = TABLE.iter().find(|setting| setting.variable() == name) {
                self.set(setting, &value, &origin);
            } else if let Some(property) = rest
                .strip_prefix("LIBRDKAFKA_")
                .filter(|property| !property.is_empty())
            {
                let property = property.to_ascii_lowercase().replace('_', ".");
                self.settings.librdkafka.set(property, value);
            } else if rest == "TOPICS" {
                for binding in value.split(',') {
                    self.assignment("topics", binding, &origin);
                }
            } else {
                let known = TABLE
                    .iter()
                    .map(|setting| setting.name)
                    .chain(["config", "topics"]);
                let near = nearest(&rest.to_ascii_lowercase(), known);
                let near = near.map(|name| format!("KPROC_{}", name.to_ascii_uppercase()));
                let what = format!("there is no setting for this variable{}", did_you_mean(near));
                self.problem(name, what);
            }
        }
    }

    /// Lays on the value of a setting.
    pub(crate) fn set(&mut self, setting: &Setting, text: &str, origin: &Origin) {
        if let Err(what) = (setting.set)(&mut self.settings, text) {
            let what = if matches!(origin, Origin::File(..)) {
                format!("`{}`: {what}", setting.name)
            } else {
                what
            };
            self.problem(origin.to_string(), what);
        }
    }

    /// Lays on a `name=value` of the table `topics` or `librdkafka`.
    pub(crate) fn assignment(&mut self, table: &str, text: &str, origin: &Origin) {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                self.pair(table, name.trim(), Some(value.trim().to_owned()), origin);
            }
            // The text is not repeated: it may be a secret.
            _ => self.problem(origin.to_string(), "expected `name=value`".into()),
        }
    }

    fn pair(&mut self, table: &str, name: &str, value: Option<String>, origin: &Origin) {
        match (table, value) {
            (_, None) => self.problem(
                origin.to_string(),
                format!("`{table}.{name}` takes a text, a number or a truth value"),
            ),
            ("topics", Some(value)) => match crate::topic::name_problem(value.as_bytes()) {
                Some(problem) => self.problem(
                    origin.to_string(),
                    format!("topic `{name}` cannot be bound to {value:?}: {problem}"),
                ),
                None => drop(self.settings.topics.insert(name.to_owned(), value)),
            },
            (_, Some(value)) => self.settings.librdkafka.set(name, value),
        }
    }

    fn problem(&mut self, place: String, what: String) {
        self.problems.push(ConfigProblem { place, what });
    }

    /// The settings, if nothing was wrong with any layer and they fit each other.
    pub(crate) fn finish(mut self) -> Result<Settings, ConfigError> {
        let heartbeat = self.settings.heartbeat_interval;
        let fits = [
            (
                self.settings.threads > 0,
                "threads",
                "one thread at least is needed",
            ),
            (
                self.settings.partitions > 0,
                "partitions",
                "one partition at least is needed",
            ),
            (
                self.settings.commit_interval != Some(Duration::ZERO),
                "commit_interval",
                "the shortest interval is 1ms",
            ),
            (
                !self.settings.session_timeout.is_zero(),
                "session_timeout",
                "the shortest time is 1ms",
            ),
            (
                self.settings.transaction_timeout >= SHORTEST_TRANSACTION,
                "transaction_timeout",
                "the shortest time is 1s: a commit takes several requests",
            ),
            (
                heartbeat.is_none_or(|heartbeat| !heartbeat.is_zero()),
                "heartbeat_interval",
                "the shortest interval is 1ms",
            ),
            (
                heartbeat.is_none_or(|heartbeat| heartbeat <= self.settings.session_timeout / 3),
                "heartbeat_interval",
                "at most a third of `session_timeout`, so that one lost heartbeat does not end the membership",
            ),
            (
                !self.settings.stuck_after.is_zero(),
                "stuck_after",
                "the shortest time is 1ms",
            ),
        ];
        for (_, name, what) in fits.into_iter().filter(|(fits, ..)| !fits) {
            self.problem(format!("setting `{name}`"), what.into());
        }
        ConfigError::of(self.problems)?;
        Ok(self.settings)
    }
}

/// `a.b = 1` and `[table.a] b = 1` name the same property.
fn flatten(prefix: &str, table: &DeTable<'_>, out: &mut Vec<(String, Option<String>, usize)>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => flatten(&format!("{name}."), inner, out),
            other => out.push((name, text_of(other), Spanned::span(key).start)),
        }
    }
}

/// The text of a TOML value, as a flag would give it.
fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|item| text_of(item.get_ref())).collect();
            items.map(|items| items.join(","))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// The nearest of the known names, if one is near at all.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, known)| *distance <= known.len() / 3)
        .map(|(_, known)| known)
}

/// Appended to a message about an unknown name.
pub(crate) fn did_you_mean(name: Option<impl fmt::Display>) -> String {
    name.map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn problems(lay: impl FnOnce(&mut Layers)) -> String {
        let mut layers = Layers::over(Settings::default());
        lay(&mut layers);
        layers.finish().unwrap_err().to_string()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_flag_wins_over_a_variable_over_a_file_over_the_program() {
        let program = Settings {
            threads: 1,
            partitions: 1,
            stop_timeout: Duration::from_secs(1),
            ..Settings::default()
        };
        let mut layers = Layers::over(program);
        layers.toml(
            "app.toml",
            "threads = 2\npartitions = 2\ncommit_interval = \"2s\"",
        );
        layers.variables(pairs(&[
            ("KPROC_THREADS", "3"),
            ("KPROC_PARTITIONS", "3"),
            ("HOME", "/root"),
        ]));
        layers.set(
            Setting::named("threads").unwrap(),
            "4",
            &Origin::Flag("threads".into()),
        );
        let settings = layers.finish().unwrap();
        assert_eq!(settings.threads, 4);
        assert_eq!(settings.partitions, 3);
        assert_eq!(settings.commit_interval, Some(Duration::from_secs(2)));
        assert_eq!(settings.stop_timeout, Duration::from_secs(1));
    }

    #[test]
    fn tables_take_dotted_keys_and_every_source() {
        let mut layers = Layers::over(Settings::default());
        layers.toml(
            "app.toml",
            "brokers = [\"a:1\", \"b:2\"]\n[topics]\nwords = \"prod.words\"\n[librdkafka]\nsasl.password = \"1\"\n\"fetch.wait.max.ms\" = 5",
        );
        layers.variables(pairs(&[
            ("KPROC_LIBRDKAFKA_SASL_PASSWORD", "2"),
            ("KPROC_TOPICS", "totals=prod.totals"),
        ]));
        layers.assignment("librdkafka", "client.rack=r=1", &Origin::Flag("X".into()));
        let settings = layers.finish().unwrap();
        assert_eq!(settings.brokers, ["a:1", "b:2"]);
        assert_eq!(settings.topics["words"], "prod.words");
        assert_eq!(settings.topics["totals"], "prod.totals");
        let properties: Vec<_> = settings.librdkafka.iter().collect();
        assert_eq!(
            properties,
            [
                ("client.rack", "r=1"),
                ("fetch.wait.max.ms", "5"),
                ("sasl.password", "2")
            ]
        );
    }

    #[test]
    fn everything_unknown_is_refused_with_the_nearest_name_and_its_place() {
        let text = problems(|layers| {
            layers.toml(
                "app.toml",
                "# settings\nthreads = 2\ncomit_interval = \"1s\"\n\n[topicz]\na = 1\n",
            );
            layers.variables(pairs(&[("KPROC_THREDS", "1"), ("KPROC_QQQQ", "1")]));
        });
        assert_eq!(
            text,
            "4 settings are wrong:\n  \
             app.toml:3: unknown setting `comit_interval`; did you mean `commit_interval`?\n  \
             app.toml:5: unknown setting `topicz`; did you mean `topics`?\n  \
             KPROC_THREDS: there is no setting for this variable; did you mean `KPROC_THREADS`?\n  \
             KPROC_QQQQ: there is no setting for this variable"
        );
    }

    #[test]
    fn values_are_checked_with_their_place() {
        let text = problems(|layers| {
            layers.toml(
                "app.toml",
                "commit_interval = 5\nthreads = { a = 1 }\ntopics = 3\n[topics]\n",
            );
        });
        assert!(text.starts_with("app.toml:4: this is not TOML"), "{text}");
        let text = problems(|layers| {
            layers.toml("app.toml", "commit_interval = 5\nthreads = { a = 1 }\ntopics = 3");
            layers.set(
                Setting::named("threads").unwrap(),
                "many",
                &Origin::Flag("threads".into()),
            );
            layers.assignment("topics", "words=no spaces", &Origin::Flag("topic".into()));
            layers.assignment("librdkafka", "hunter2", &Origin::Flag("X".into()));
        });
        for wanted in [
            "app.toml:1: `commit_interval`: expected a time",
            "app.toml:2: `threads` takes one value, not a table",
            "app.toml:3: `topics` is a table: begin it with a line `[topics]`",
            "--threads: expected a whole number up to",
            "--topic: topic `words` cannot be bound to \"no spaces\"",
            "-X: expected `name=value`",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in {text}");
        }
        let text = problems(|layers| layers.toml("app.toml", "threads = 0\ncommit_interval = \"0s\""));
        assert!(text.contains("setting `threads`: one thread at least"), "{text}");
        assert!(
            text.contains("setting `commit_interval`: the shortest interval is 1ms"),
            "{text}"
        );
        let text = problems(|layers| {
            layers.toml(
                "app.toml",
                "session_timeout = \"6s\"\nheartbeat_interval = \"2001ms\"",
            );
        });
        assert!(text.contains("at most a third of `session_timeout`"), "{text}");
        let text = problems(|layers| layers.toml("app.toml", "transaction_timeout = \"999ms\""));
        assert!(
            text.contains("setting `transaction_timeout`: the shortest time is 1s"),
            "{text}"
        );
    }

    #[test]
    fn h03_no_value_is_repeated_in_an_error() {
        let text = problems(|layers| {
            layers.toml("app.toml", "[librdkafka]\n\"sasl.password\" = \"hunter2\" oops\n");
            layers.variables(pairs(&[
                ("KPROC_PASSWORD", "hunter2"),
                ("KPROC_THREADS", "hunter2"),
            ]));
            layers.assignment("librdkafka", "=hunter2", &Origin::Flag("X".into()));
        });
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn every_setting_reads_what_it_shows() {
        let mut settings = Settings::default();
        for setting in TABLE {
            if let Some(text) = (setting.show)(&Settings::default()) {
                (setting.set)(&mut settings, &text)
                    .unwrap_or_else(|problem| panic!("{}: {problem}", setting.name));
            }
            assert!(!setting.doc.trim().is_empty());
        }
        assert_eq!(settings, Settings::default());
    }
}
