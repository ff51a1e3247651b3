//! `topics --create`: makes the changelogs that are missing, as a first start would; for whoever may, where the
//! application may not.

use std::{path::PathBuf, sync::Arc};

use super::{cluster, failure::Failure, names, output::Output};
use crate::{
    app::{App, DEFAULT_STATE_DIR, plan},
    config::Settings,
    runtime::make_changelogs,
};

/// Makes them, and says which.
pub(crate) fn create(app: &App, settings: &Settings, output: &mut Output) -> Result<(), Failure> {
    let topology = Arc::new(names::topology(app, settings)?);
    names::warn_of_unknown(app, settings, &topology);
    let state_dir = settings
        .state_dir
        .clone()
        .unwrap_or_else(|| PathBuf::from(DEFAULT_STATE_DIR));
    let plan = plan(topology, app.factories.clone().into(), settings, state_dir);
    let made = cluster::on(app, settings, async |cluster, clock| {
        let made = make_changelogs(&plan, cluster, clock).await;
        made.map_err(|error| Failure::run(format!("changelogs are not made: {error}")))
    })?;
    if made.is_empty() {
        return output.write(b"all changelogs are there\n");
    }
    made.iter().try_for_each(|topic| {
        let line = format!("made {} with {} partitions\n", topic.name, topic.partitions);
        output.write(line.as_bytes())
    })
}
