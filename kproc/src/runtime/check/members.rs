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
    facts: &Facts,
    clock: &dyn Clock,
    faults: &mut Faults,
) -> Result<(), RunError> {
    let wait = plan.settings.session_timeout.saturating_add(MARGIN);
    let end = clock.now().saturating_add(wait);
    let mut told = false;
    loop {
        let strangers = Strangers::look(plan, facts, clock).await?;
        let Some(Stranger { host, difference }) = strangers.0.first() else {
            return Ok(());
        };
        if !faults.0.is_empty() || clock.now() >= end {
            strangers.tell(plan, faults);
            return Ok(());
        }
        if !told {
            told = true;
            tracing::warn!(
                %host, %difference, members = strangers.0.len(),
                "instances of another version are members of the group; waiting for {} for them to go",
                humantime::format_duration(wait)
            );
        }
        clock.sleep_until(clock.now() + LOOK).await;
    }
}

/// Tells which members differ now that this instance is one itself: those that looked at the group in the same moment
/// have not seen each other.
pub(super) async fn check_again(
    plan: &Plan,
    facts: &Facts,
    clock: &dyn Clock,
    faults: &mut Faults,
) -> Result<(), RunError> {
    Strangers::look(plan, facts, clock).await?.tell(plan, faults);
    Ok(())
}

/// Members that are another program.
struct Strangers(Vec<Stranger>);

struct Stranger {
    host: String,
    difference: String,
}

impl Strangers {
    async fn look(plan: &Plan, facts: &Facts, clock: &dyn Clock) -> Result<Self, RunError> {
        let own = Fingerprint::of(&plan.topology);
        let members = facts.members(plan, clock).await?.into_iter();
        let strangers = members.filter_map(|member| {
            let difference = own.difference(&member.client_id)?;
            Some(Stranger {
                host: member.host,
                difference,
            })
        });
        Ok(Self(strangers.collect()))
    }

    fn tell(&self, plan: &Plan, faults: &mut Faults) {
        let Some(Stranger { host, difference }) = self.0.first() else {
            return;
        };
        let more = match self.0.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        faults.add(format!(
            "the group `{}` has a member at {host}{more} that is another version of this program: {difference}. \
             Versions that differ in this cannot share partitions: stop all old instances before the first new one \
             starts, or give the new version another application id",
            plan.topology.app
        ));
    }
}
