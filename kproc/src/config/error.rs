//! What is wrong with settings, all of it at once.

use std::fmt;

/// Settings that cannot be used. Lists everything that is wrong with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where: `kproc.toml:3`, `KPROC_THREADS`, `--threads`.
    pub place: String,
    /// What, and what to do about it. Never holds the value of a setting.
    pub what: String,
}

impl ConfigError {
    /// `None` if there are no problems.
    pub(crate) fn of(problems: Vec<ConfigProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self { problems })
        }
    }

    /// What is wrong.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problems[..] {
            [one] => write!(f, "{one}"),
            all => {
                write!(f, "{} settings are wrong:", all.len())?;
                all.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for ConfigError {}
