//! Arguments: a job, and `--name value` pairs.

use std::{collections::BTreeMap, path::PathBuf};

/// What is to be done.
pub(crate) struct Args {
    pub(crate) job: String,
    named: BTreeMap<String, String>,
    /// Properties for librdkafka.
    pub(crate) properties: Vec<(String, String)>,
}

impl Args {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            job: words.next().ok_or("which job? fill, map, count or restore")?,
            named: BTreeMap::new(),
            properties: Vec::new(),
        };
        while let Some(flag) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{flag}` wants a value"))?;
            match (flag.strip_prefix("--"), value.split_once('=')) {
                (Some(name), _) => _ = args.named.insert(name.to_owned(), value),
                (None, Some((name, value))) if flag == "-X" => {
                    args.properties.push((name.to_owned(), value.to_owned()));
                }
                _ => return Err(format!("`{flag} {value}` is no argument")),
            }
        }
        Ok(args)
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        let text = self.named.get(name).map(String::as_str);
        text.ok_or_else(|| format!("`--{name}` is missing"))
    }

    pub(crate) fn number(&self, name: &str, default: u64) -> Result<u64, String> {
        let Some(text) = self.named.get(name) else {
            return Ok(default);
        };
        text.replace('_', "")
            .parse()
            .map_err(|_| format!("`--{name} {text}`: a whole number was expected"))
    }

    /// Where state is kept.
    pub(crate) fn state(&self) -> PathBuf {
        self.named
            .get("state")
            .map_or_else(|| std::env::temp_dir().join("kproc-bench"), PathBuf::from)
    }

    /// The application's id.
    pub(crate) fn id(&self) -> String {
        self.named
            .get("id")
            .cloned()
            .unwrap_or_else(|| format!("bench-{}-{}", self.job, std::process::id()))
    }
}
