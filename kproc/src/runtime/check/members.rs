//! Whether the instances that run already are the same program.
//!
//! A member that reads, processes or keeps something else would get partitions that it cannot do, or do them
//! otherwise; none of that would be seen. One that is merely going down is waited for: after a crash it stays a
//! member until its session is over.

use std::time::Duration;

use super::{
    super::{error::RunError, plan::Plan},
    Faults,
    facts::Facts,
    fingerprint::Fingerprint,
};
use crate::clock::Clock;

/// How long after the end of a session its member may still be listed.
const MARGIN: Duration = Duration::from_secs(3);

/// How often the group is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Tells which members differ. Waits for them to go, if that is all that is wrong.
pub(super) async fn check(
    plan: &Plan,
    facts: &mut Facts,
    clock: &dyn Clock,
    faults: &mut Faults,
) -> Result<(), RunError> {
    let own = Fingerprint::of(&plan.topology);
    let wait = plan.settings.session_timeout.saturating_add(MARGIN);
    let end = clock.now().saturating_add(wait);
    let mut told = false;
    loop {
        let mut others: Vec<(String, String)> = Vec::new();
        for member in facts.members(plan, clock).await? {
            if let Some(difference) = own.difference(&member.client_id) {
                others.push((member.host, difference));
            }
        }
        let Some((host, difference)) = others.first() else {
            return Ok(());
        };
        if !faults.0.is_empty() || clock.now() >= end {
            let more = match others.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            faults.add(format!(
                "the group `{}` has a member at {host}{more} that is another version of this program: {difference}. \
                 Versions that differ in this cannot share partitions: stop all old instances before the first new \
                 one starts, or give the new version another application id",
                plan.topology.app
            ));
            return Ok(());
        }
        if !told {
            told = true;
            tracing::warn!(
                %host, %difference, members = others.len(),
                "instances of another version are members of the group; waiting for {} for them to go",
                humantime::format_duration(wait)
            );
        }
        clock.sleep_until(clock.now() + LOOK).await;
    }
}
