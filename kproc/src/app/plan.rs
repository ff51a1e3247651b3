//! From what a program and its settings say to what the runtime is given.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::App;
use crate::{
    config::{Processing, Settings},
    engine::{Factory, TaskSettings, declared},
    policy::Policies,
    runtime::{self, Plan, RunError, Transactions},
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
        built.map_err(|error| RunError::Check(error.mistakes))
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
    let exactly_once = settings.processing == Processing::ExactlyOnce;
    run.transactions = exactly_once.then_some(Transactions {
        timeout: settings.transaction_timeout,
    });
    let interval = if exactly_once { 100 } else { 1000 };
    run.commit_interval = settings
        .commit_interval
        .unwrap_or(Duration::from_millis(interval));
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
