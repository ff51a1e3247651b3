//! Whether transactions may be made.
//!
//! Brokers that are asked for permissions say nothing of this one, nor for how long a transaction may be open. So it is
//! tried, with an id that no worker has: a stop may leave the request behind, and if it came late, it would end the transactions
//! of whoever is started next.

use super::{
    super::{error::RunError, identity::Identity, plan::Plan},
    Faults,
    facts::Facts,
};
use crate::cluster::{Cluster, ClusterErrorKind, Operation, ProducerOptions, Resource};

/// Tells if they may not. Whatever else goes wrong is met again by the workers, who know what to do about it.
pub(super) async fn check(
    plan: &Plan,
    facts: &Facts,
    cluster: &dyn Cluster,
    identity: Option<&Identity>,
    faults: &mut Faults,
) -> Result<(), RunError> {
    let Some(identity) = identity else { return Ok(()) };
    let app = &plan.topology.app;
    let id = identity.trial_id(app);
    let transactions = plan.settings.transactions.as_ref();
    let options = ProducerOptions {
        transactional_id: Some(id.clone()),
        transaction_timeout: transactions.map(|transactions| transactions.timeout),
        ..ProducerOptions::default()
    };
    let mut producer = cluster
        .producer(options)
        .map_err(|error| RunError::cluster("cannot make a producer", &error))?;
    match producer.init().await {
        Err(error) if error.kind == ClusterErrorKind::Unauthorized => {
            let ids = Resource::TransactionalIds(format!("{app}-").into());
            faults.add(format!(
                "this program is to process exactly once, and may not make transactions with its id `{id}`; it needs all \
                 ids that begin with `{app}-`: `kafka-acls.sh {}`",
                facts.grant(&ids, &[Operation::Write])
            ));
        }
        Err(error)
            if matches!(
                error.kind,
                ClusterErrorKind::Unsupported | ClusterErrorKind::Fatal
            ) =>
        {
            faults.add(format!(
                "this program is to process exactly once, and cannot make transactions: {error}"
            ));
        }
        Ok(()) | Err(_) => {}
    }
    Ok(())
}
