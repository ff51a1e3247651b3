//! Settings of a run: the program's, under those of a file, of variables and of flags.

use std::path::PathBuf;

use clap::{ArgMatches, parser::ValueSource};

use crate::config::{ConfigError, Layers, Origin, Settings, TABLE};

/// Lays the layers on each other.
pub(crate) fn settings(
    program: Settings,
    matches: &ArgMatches,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Settings, ConfigError> {
    let mut layers = Layers::over(program);
    let variables: Vec<_> = variables.into_iter().collect();
    let variable = variables
        .iter()
        .find(|(name, _)| name == "KPROC_CONFIG")
        .map(|(_, path)| path);
    if let Some(path) = matches.get_one::<String>("config").or(variable) {
        layers.file(&PathBuf::from(path));
    }
    layers.variables(variables);
    for setting in TABLE {
        if matches.value_source(setting.name) == Some(ValueSource::CommandLine)
            && let Some(text) = matches.get_one::<String>(setting.name)
        {
            layers.set(setting, text, &Origin::Flag(setting.flag()));
        }
    }
    for text in matches.get_many::<String>("topic").into_iter().flatten() {
        layers.assignment("topics", text, &Origin::Flag("topic".into()));
    }
    for text in matches.get_many::<String>("property").into_iter().flatten() {
        layers.assignment("librdkafka", text, &Origin::Flag("X".into()));
    }
    layers.finish()
}
