//! Before anything is joined or opened: does the cluster have what the application needs, and does it let it? All
//! faults are told at once, each with its cure; then the changelogs that are missing are made.
//!
//! What may be here: questions to the cluster, and what their answers mean for a start, one subject a file. What may
//! not: what can be said without a cluster (the topology's own check).
//!
//! - [`facts`]: what the cluster says, asked once.
//! - [`inputs`], [`outputs`], [`changelogs`]: topics. [`access`], [`transactions`]: permissions. [`members`]: who is in
//!   the group.
//! - [`fingerprint`]: what members tell each other. [`create`]: changelogs are made.
//! - [`found`]: what there is, for those who make topics.

mod access;
mod changelogs;
mod create;
mod facts;
mod fingerprint;
mod found;
mod inputs;
mod members;
mod outputs;
mod transactions;

use super::{error::RunError, identity::Identity, plan::Plan};
use crate::{
    clock::Clock,
    cluster::{Cluster, NewTopic, Operation, Resource},
    topology::Topology,
};

use self::facts::Facts;
pub(crate) use self::found::{Found, State as TopicState, find};

/// Checks, and makes the changelogs. Says how many partitions each group has. `identity`: of who makes transactions.
pub(super) async fn check(
    plan: &Plan,
    cluster: &dyn Cluster,
    clock: &dyn Clock,
    identity: Option<&Identity>,
) -> Result<Vec<u32>, RunError> {
    let needed = changelogs::needed(&plan.topology);
    let mut facts = Facts::ask(plan, cluster, clock, &needed).await?;
    let mut faults = Faults::default();
    let counts = inputs::check(plan, &facts, &mut faults);
    outputs::check(plan, &facts, &mut faults);
    let missing = changelogs::check(plan, &facts, &needed, &counts, &mut faults);
    access::check(plan, &facts, &needed, &mut faults);
    transactions::check(plan, &facts, cluster, identity, &mut faults).await?;
    create::check(plan, &mut facts, clock, &missing, &mut faults).await?;
    members::check(plan, &facts, clock, &mut faults).await?;
    faults.none()?;
    create::create(plan, &mut facts, clock, &missing).await?;
    // Without faults, all are known.
    Ok(counts.into_iter().flatten().collect())
}

/// A second look at who is in the group, once this instance has joined it. Being unable to look is no fault any more.
pub(super) async fn check_again(
    plan: &Plan,
    cluster: &dyn Cluster,
    clock: &dyn Clock,
) -> Result<(), RunError> {
    let mut faults = Faults::default();
    let facts = Facts::none(cluster)?;
    if let Err(error) = members::check_again(plan, &facts, clock, &mut faults).await {
        tracing::warn!(%error, "whether instances of another version have started with this one is not known");
    }
    faults.none()
}

/// Makes the changelogs that are missing, also those that were deleted; says which.
pub(crate) async fn make_changelogs(
    plan: &Plan,
    cluster: &dyn Cluster,
    clock: &dyn Clock,
) -> Result<Vec<NewTopic>, RunError> {
    let needed = changelogs::needed(&plan.topology);
    let mut facts = Facts::ask(plan, cluster, clock, &needed).await?;
    // That they were there once is known to whoever asks for them.
    facts.known.clear();
    let mut faults = Faults::default();
    let counts = inputs::check(plan, &facts, &mut faults);
    let missing = changelogs::check(plan, &facts, &needed, &counts, &mut faults);
    let hidden = facts.hidden.iter().map(|topic| {
        let topic = Resource::Topic(topic.clone());
        format!(
            "{topic} may not be seen: `kafka-acls.sh {}`",
            facts.grant(&topic, &[Operation::Describe])
        )
    });
    faults.0.extend(hidden);
    faults.none()?;
    create::create(plan, &mut facts, clock, &missing).await?;
    Ok(missing.into_iter().map(|missing| missing.new).collect())
}

/// What instances of this application call themselves when they join.
pub(super) fn client_id(topology: &Topology) -> String {
    fingerprint::Fingerprint::of(topology).to_string()
}

/// All that is wrong.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, fault: String) {
        self.0.push(fault);
    }

    fn none(self) -> Result<(), RunError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(RunError::Check(self.0))
        }
    }
}
