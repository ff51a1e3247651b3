//! From what a program and its settings say to what the runtime is given.

use std::{path::PathBuf, sync::Arc};

use super::App;
use crate::{
    config::{Processing, Settings},
    engine::{Factory, TaskSettings, declared},
    policy::Policies,
    runtime::{self, Plan, RunError},
    topology::Topology,
};

impl App {
    /// Checks and groups the processors, and checks what only the application as a whole can say of its settings.
    pub(crate) fn topology(&self, settings: &Settings) -> Result<Topology, RunError> {
        let bindings = settings
            .topics
            .iter()
            .map(|(name, bound)| (name.as_str().into(), bound.as_str().into()));
        let built = Topology::build(&self.id, declared(&self.factories), bindings.collect());
        let mut mistakes = Vec::new();
        if settings.processing == Processing::ExactlyOnce {
            mistakes.push(
                "`processing = exactly_once` is not in this version of kproc yet: leave it at `at_least_once`".to_owned(),
            );
        }
        match built {
            Ok(topology) if mistakes.is_empty() => Ok(topology),
            Ok(_) => Err(RunError::Check(mistakes)),
            Err(error) => Err(RunError::Check(
                error.mistakes.into_iter().chain(mistakes).collect(),
            )),
        }
    }
}

/// What the runtime is to run, with state in this directory.
pub(crate) fn plan(
    topology: Arc<Topology>,
    factories: Arc<[Factory]>,
    settings: &Settings,
    state_dir: PathBuf,
) -> Plan {
    let mut run = runtime::Settings::new(state_dir);
    run.threads = settings.threads;
    run.commit_interval = settings.commit_interval;
    run.stop_deadline = settings.stop_timeout;
    run.session_timeout = settings.session_timeout;
    run.heartbeat_interval = settings.heartbeat_interval;
    run.stuck_after = settings.stuck_after;
    run.memory = usize::try_from(settings.memory.0).unwrap_or(usize::MAX);
    run.store.checksum = settings.checksum;
    run.task = TaskSettings {
        policies: Policies {
            deserialization: settings.on_deserialization_error.clone(),
            processing: settings.on_processing_error.clone(),
            panic: settings.on_panic.clone(),
        },
        missing_timestamp: settings.missing_timestamp,
        max_task_idle: settings.max_task_idle,
        max_ahead: settings.max_ahead,
        fired: None,
    };
    Plan {
        topology,
        factories,
        settings: run,
    }
}
