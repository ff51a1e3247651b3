//! Log lines, on standard error.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use super::{failure::Failure, progress};
use crate::config::{LogFormat, Settings, did_you_mean, nearest};

/// The levels there are; `off` silences.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// Sets up logging: what the settings say, and more of it for each `-v`.
///
/// If the program has set up a subscriber of its own, it keeps it.
pub(crate) fn set_up(settings: &Settings, verbose: u8) -> Result<(), Failure> {
    let asked = settings.log.as_deref().map(directives).transpose();
    let asked = asked.map_err(|what| Failure::usage(format!("setting `log`: {what}")))?;
    let directives = match (&asked, verbose) {
        (Some(text), 0) => text.clone(),
        (Some(text), 1) => format!("{text},kproc=debug"),
        (Some(text), _) => format!("{text},kproc=trace"),
        (None, 0) => "info".into(),
        (None, 1) => "info,kproc=debug,kproc_store=debug".into(),
        (None, _) => "debug,kproc=trace,kproc_store=trace".into(),
    };
    let filter = EnvFilter::try_new(&directives)
        .map_err(|error| Failure::usage(format!("setting `log`: {directives:?} is not a filter: {error}")))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(AboveBars);
    // An error means that there is a subscriber already.
    let _ = match settings.log_format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init(),
    };
    Ok(())
}

/// The directives of the setting, if each is one. The filter itself would take a misspelt level for a target, and
/// be silent about all else.
fn directives(text: &str) -> Result<String, String> {
    let each = text
        .split(',')
        .map(str::trim)
        .filter(|directive| !directive.is_empty());
    let directives: Vec<_> = each.collect();
    if directives.is_empty() {
        return Err(format!(
            "it is empty; expected one of the levels {}",
            LEVELS.join(", ")
        ));
    }
    for directive in &directives {
        match directive.split_once('=') {
            // A span, with its own rules: the filter checks them.
            _ if directive.contains('[') => {}
            None if is_level(directive) => {}
            None => {
                return Err(format!(
                    "`{directive}` is no level{} (levels: {}; for one target alone: `target=level`)",
                    did_you_mean(nearest_level(directive)),
                    LEVELS.join(", ")
                ));
            }
            Some((target, _)) if target.is_empty() || target.contains(char::is_whitespace) => {
                return Err(format!(
                    "`{target}` in `{directive}` is no target, such as `kproc`"
                ));
            }
            Some((_, level)) if !is_level(level) => {
                return Err(format!(
                    "`{level}` in `{directive}` is no level{} (levels: {})",
                    did_you_mean(nearest_level(level)),
                    LEVELS.join(", ")
                ));
            }
            Some(_) => {}
        }
    }
    Ok(directives.join(","))
}

fn is_level(text: &str) -> bool {
    LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text))
}

/// The level that was meant: mistyped, or written out (`warning`).
fn nearest_level(text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    nearest(&text, LEVELS).or_else(|| LEVELS.into_iter().find(|level| text.starts_with(level)))
}

/// Standard error, without damage to progress bars that are on it.
///
/// Lines that cannot be written are lost: nobody may be reading any more (`2>&1 | head`), and the work is not to
/// suffer. Told of the error, the subscriber would print it to the same place, and panic when that fails, too.
struct AboveBars;

impl Write for AboveBars {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = progress::above_bars(|| io::stderr().write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for AboveBars {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_with_the_nearest() {
        for (text, wanted) in [
            ("inof", "`inof` is no level; did you mean `info`?"),
            ("warning", "`warning` is no level; did you mean `warn`?"),
            (
                "kproc=dbug",
                "`dbug` in `kproc=dbug` is no level; did you mean `debug`?",
            ),
            (
                "nonsense nonsense",
                "`nonsense nonsense` is no level (levels: error,",
            ),
            ("non sense=info", "`non sense` in `non sense=info` is no target"),
            ("info,a=b=c", "`b=c` in `a=b=c` is no level"),
            (" ,", "it is empty"),
        ] {
            let problem = directives(text).unwrap_err();
            assert!(problem.contains(wanted), "{text}: {problem}");
        }
        assert_eq!(directives("WARN, kproc=debug,").unwrap(), "WARN,kproc=debug");
        assert_eq!(
            directives("off,[span{a=1}]=info").unwrap(),
            "off,[span{a=1}]=info"
        );
    }
}
