//! Session and heartbeats of a group. With the `consumer` protocol they are settings of the group, which the brokers
//! keep: whoever joins sets them to what it was asked for. With the `classic` protocol they are each member's own.

use std::{sync::Arc, time::Duration};

use super::super::native::{Client, NativeError, Resource, alter_config, describe_config};
use crate::cluster::JoinRequest;

/// How long each question may take before the group is joined without.
const TIMEOUT: Duration = Duration::from_secs(5);

/// One of the two.
struct Wanted {
    /// What it is called in kproc.
    setting: &'static str,
    /// What it is called in the group's settings, and between `group.consumer.min.` and its like in the brokers'.
    name: &'static str,
    value: Duration,
}

impl Wanted {
    fn of(request: &JoinRequest) -> [Self; 2] {
        [
            Self {
                setting: "session_timeout",
                name: "session.timeout.ms",
                value: request.session_timeout,
            },
            Self {
                setting: "heartbeat_interval",
                name: "heartbeat.interval.ms",
                value: request.heartbeat(),
            },
        ]
    }

    fn in_group(&self) -> String {
        format!("consumer.{}", self.name)
    }

    /// What is wrong with it, if it is outside of the brokers' limits.
    fn breach(&self, brokers: &[(String, String)]) -> Option<String> {
        let limit = |end: &str| {
            let name = format!("group.consumer.{end}.{}", self.name);
            let (_, value) = brokers.iter().find(|(it, _)| *it == name)?;
            Some((name, value.parse::<u128>().ok()?))
        };
        let (setting, value) = (self.setting, self.value.as_millis());
        let (name, limit, word) = match (limit("min"), limit("max")) {
            (Some((name, least)), _) if value < least => (name, least, "less"),
            (_, Some((name, most))) if value > most => (name, most, "more"),
            _ => return None,
        };
        Some(format!(
            "`{setting}` is {value} ms, {word} than the brokers take (`{name}` is {limit})"
        ))
    }
}

/// Sets session and heartbeats of the group, where they differ. That the brokers refuse is no reason not to join.
pub(super) fn set(client: &Arc<Client>, request: &JoinRequest) {
    let group = &request.group;
    let wanted = Wanted::of(request);
    let present = match config(client, Resource::Group, group) {
        Ok(present) => present,
        Err(error) => {
            tracing::debug!(%group, %error, "the group's settings cannot be read");
            return;
        }
    };
    let differ: Vec<_> = wanted
        .iter()
        .map(|wanted| (wanted.in_group(), wanted.value.as_millis().to_string()))
        .filter(|(name, value)| present.iter().any(|(it, present)| it == name && present != value))
        .collect();
    if differ.is_empty() {
        return;
    }
    let pairs: Vec<_> = differ
        .iter()
        .map(|(name, value)| (&**name, value.clone()))
        .collect();
    let Ok(call) = alter_config(client, Resource::Group, group, &pairs) else {
        return;
    };
    let Err(error) = call.wait(TIMEOUT) else {
        tracing::debug!(%group, settings = ?differ, "session and heartbeats of the group are set");
        return;
    };
    let limits = client
        .connect(TIMEOUT.as_millis() as i32)
        .ok()
        .and_then(|id| config(client, Resource::Broker, &id.to_string()).ok());
    let breaches: Vec<_> = wanted
        .iter()
        .filter_map(|wanted| wanted.breach(limits.as_deref().unwrap_or_default()))
        .collect();
    let kept: Vec<_> = present
        .iter()
        .filter(|(name, _)| wanted.iter().any(|wanted| wanted.in_group() == *name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let (kept, why) = (kept.join(", "), breaches.join(" and "));
    if why.is_empty() {
        tracing::warn!(
            %group, %error,
            "the brokers do not let the group's session and heartbeats be set, and go on with {kept}: grant \
             ALTER_CONFIGS on the group, or set `session_timeout` and `heartbeat_interval` to these"
        );
    } else {
        tracing::warn!(
            %group,
            "{why}: the group goes on with {kept}. Change the setting, or the brokers' limit"
        );
    }
}

fn config(
    client: &Arc<Client>,
    resource: Resource,
    name: &str,
) -> Result<Vec<(String, String)>, NativeError> {
    match describe_config(client, resource, name) {
        Ok(call) => call.wait(TIMEOUT),
        // The name has a zero byte, which joining will complain of.
        Err(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brokers_limits_are_named() {
        let brokers = [
            ("group.consumer.min.session.timeout.ms", "45000"),
            ("group.consumer.max.session.timeout.ms", "60000"),
            ("group.consumer.min.heartbeat.interval.ms", "5000"),
            ("group.consumer.max.heartbeat.interval.ms", "15000"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let breach = |name, millis| {
            let wanted = Wanted {
                setting: "x",
                name,
                value: Duration::from_millis(millis),
            };
            wanted.breach(&brokers)
        };
        assert_eq!(breach("session.timeout.ms", 45_000), None);
        assert_eq!(breach("heartbeat.interval.ms", 15_000), None);
        assert_eq!(
            breach("session.timeout.ms", 6_000).unwrap(),
            "`x` is 6000 ms, less than the brokers take (`group.consumer.min.session.timeout.ms` is 45000)"
        );
        assert_eq!(
            breach("heartbeat.interval.ms", 15_001).unwrap(),
            "`x` is 15001 ms, more than the brokers take (`group.consumer.max.heartbeat.interval.ms` is 15000)"
        );
    }
}
