//! The generated main: a command line for an application.
//!
//! What may be here: reading arguments, showing progress and results, files to be fed and dumped, signals.
//! Records go to standard output, everything else to standard error.

mod args;
mod describe;
mod dump;
mod embedded;
mod failure;
mod feed;
mod lag;
mod lines;
mod log;
mod output;
mod progress;
mod run;
mod settings;
mod signal;

use std::{ffi::OsString, io::Write, process::ExitCode};

use self::{args::Action, failure::Failure};
use crate::app::App;

impl App {
    /// Does what the command line says; see `--help`. For use as the whole of `main`.
    pub fn main(self) -> ExitCode {
        let id = self.id.clone();
        match main(self, std::env::args_os()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                // Nobody may be reading; the exit code says it, too.
                let _ = writeln!(std::io::stderr(), "{id}: {failure}");
                ExitCode::from(failure.code)
            }
        }
    }
}

fn main(app: App, args: impl IntoIterator<Item = OsString>) -> Result<(), Failure> {
    let (action, matches) = match args::parse(app.command(), args) {
        Ok(parsed) => parsed,
        // `--help` and `--version` come as errors, too.
        Err(error) if !error.use_stderr() => return output::print(&error.render().to_string(), false),
        Err(error) => {
            let text = error.render().to_string();
            return Err(Failure::usage(text.trim_start_matches("error: ").trim_end()));
        }
    };
    let settings = settings::settings(app.settings.clone(), &matches, variables()).map_err(Failure::usage)?;
    log::set_up(&settings, matches.get_count("verbose"))?;
    match action {
        Action::Run(args) => run::run(app, &settings, &args),
        Action::Topology => output::print(
            &describe::topology(&app.topology(&settings).map_err(Failure::usage)?),
            false,
        ),
        Action::Topics => output::print(
            &describe::topics(&app.topology(&settings).map_err(Failure::usage)?),
            false,
        ),
        Action::StateList | Action::StateGet { .. } | Action::StateScan { .. } => {
            Err(Failure::usage("looking into state is not in this build yet"))
        }
    }
}

/// The environment, as far as it is text.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
