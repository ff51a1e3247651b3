//! Log lines, on standard error.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use super::{failure::Failure, progress};
use crate::config::{LogFormat, Settings};

/// Sets up logging: what the settings say, and more of it for each `-v`.
///
/// If the program has set up a subscriber of its own, it keeps it.
pub(crate) fn set_up(settings: &Settings, verbose: u8) -> Result<(), Failure> {
    let directives = match (&settings.log, verbose) {
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
