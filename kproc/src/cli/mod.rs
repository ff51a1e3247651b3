//! The generated main: a command line for an application.
//!
//! What may be here: reading arguments, showing progress and results, files to be fed and dumped, signals.
//! Records go to standard output, everything else to standard error.

mod args;
mod settings;

use std::{ffi::OsString, process::ExitCode};

use crate::app::App;

/// The command line or the settings are wrong.
const USAGE: u8 = 2;

/// Does what `args` say.
pub(crate) fn main(app: App, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (action, matches) = match args::parse(app.command(), args) {
        Ok(parsed) => parsed,
        Err(error) => {
            // `--help` and `--version` come as errors, too. Nobody may be reading: that is no failure.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let settings = match settings::settings(app.settings.clone(), &matches, variables()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(USAGE);
        }
    };
    let _ = (action, settings);
    eprintln!("error: this build of kproc has no runtime");
    ExitCode::FAILURE
}

/// The environment, as far as it is text.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
