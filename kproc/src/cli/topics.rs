//! `topics`: what is needed, what a cluster has of it, and how to make the rest. `topics --create` makes the changelogs
//! that are missing, as a first start would; for whoever may, where the application may not.

use std::sync::Arc;

use super::{cluster, describe, failure::Failure, names, output::Output};
use crate::{
    app::{App, plan, state_dir},
    config::Settings,
    runtime::{Found, Plan, TopicState, find_topics, make_changelogs},
};

/// Shows what is needed; what there is, too, if brokers are named.
pub(crate) fn show(app: &App, settings: &Settings, output: &mut Output) -> Result<(), Failure> {
    let plan = checked(app, settings)?;
    output.write(describe::topics(&plan.topology).as_bytes())?;
    if settings.brokers.is_empty() {
        return Ok(());
    }
    let found = cluster::on(app, settings, async |cluster, clock| {
        let found = find_topics(&plan, cluster, clock).await;
        found.map_err(|error| Failure::run(format!("what the cluster has is not known: {error}")))
    })?;
    output.write(text(&found).as_bytes())
}

fn text(found: &Found) -> String {
    let mut rows = vec![["TOPIC", "IN THE CLUSTER"].map(str::to_owned)];
    for (name, state) in &found.topics {
        let state = match state {
            TopicState::There(1) => "1 partition".to_owned(),
            TopicState::There(partitions) => format!("{partitions} partitions"),
            TopicState::Missing => "missing".to_owned(),
            TopicState::Hidden => "missing, or may not be seen by this program".to_owned(),
        };
        rows.push([name.to_string(), state]);
    }
    let mut text = format!("\n{}", describe::table(&rows));
    if !found.commands.is_empty() {
        text.push_str("\nto make what is missing (N: as many partitions as you like):\n");
        text.extend(found.commands.iter().map(|command| format!("  {command}\n")));
    }
    text
}

/// Makes the changelogs that are missing, and says which.
pub(crate) fn create(app: &App, settings: &Settings, output: &mut Output) -> Result<(), Failure> {
    let plan = checked(app, settings)?;
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

/// The application, as it would run; asks for less long.
fn checked(app: &App, settings: &Settings) -> Result<Plan, Failure> {
    let topology = Arc::new(names::topology(app, settings)?);
    names::warn_of_unknown(app, settings, &topology);
    let state_dir = state_dir(settings).to_owned();
    let mut plan = plan(topology, app.factories.clone().into(), settings, state_dir);
    plan.settings.patience = cluster::PATIENCE;
    Ok(plan)
}
