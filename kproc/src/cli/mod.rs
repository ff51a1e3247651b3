//! The generated main: a command line for an application.
//!
//! What may be here: reading arguments, showing progress and results, files to be fed and dumped, signals.
//! Records go to standard output, everything else to standard error.

mod args;
mod cluster;
mod describe;
mod dump;
mod embedded;
mod failure;
mod feed;
mod input;
mod kafka;
mod lag;
mod lines;
mod load;
mod log;
mod names;
mod output;
mod progress;
mod reset;
mod restores;
mod run;
mod settings;
mod signal;
mod state;
mod topics;

use std::{ffi::OsString, io::Write, process::ExitCode};

use self::{
    args::{Action, Show},
    failure::Failure,
    output::Output,
    state::{State, StoreId},
};
use crate::{
    app::{App, state_dir},
    config::Settings,
};

impl App {
    /// Does what the command line says; see `--help`. For use as the whole of `main`.
    pub fn main(self) -> ExitCode {
        self.main_with(std::env::args_os())
    }

    /// Does what these arguments say, the first of which is the program's name.
    pub fn main_with(self, args: impl IntoIterator<Item = OsString>) -> ExitCode {
        let id = self.id.clone();
        match main(self, args) {
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
        Action::Load { feed, quiet } => load::load(app, &settings, &feed, quiet),
        Action::CreateTopics => {
            let mut output = Output::stdout();
            topics::create(&app, &settings, &mut output)?;
            output.finish()
        }
        Action::Reset(args) => reset::reset(&app, &settings, &args),
        Action::Lag { json } => {
            let mut output = Output::stdout();
            lag::show(&app, &settings, json, &mut output)?;
            output.finish()
        }
        Action::Topics => {
            let mut output = Output::stdout();
            topics::show(&app, &settings, &mut output)?;
            output.finish()
        }
        Action::Show(what) => show(&app, &settings, what),
    }
}

fn show(app: &App, settings: &Settings, what: Show) -> Result<(), Failure> {
    let topology = names::topology(app, settings)?;
    if matches!(what, Show::Topology) {
        names::warn_of_unknown(app, settings, &topology);
    }
    let state = State::new(&topology, state_dir(settings));
    let mut output = Output::stdout();
    match what {
        Show::Topology => output.write(describe::topology(&topology).as_bytes())?,
        Show::StateList => output.write(state.list()?.as_bytes())?,
        Show::StateGet { store, key } => state.get(StoreId::find(&topology, &store)?, &key, &mut output)?,
        Show::StateScan { store, limit } => {
            state.scan(StoreId::find(&topology, &store)?, limit, &mut output)?;
        }
    }
    output.finish()
}

/// The environment. What is not UTF-8 is kept in a form that will be refused, rather than passed over.
fn variables() -> impl Iterator<Item = (String, String)> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(move |(name, value)| (text(name), text(value)))
}
