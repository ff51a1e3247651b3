//! The cluster for commands that look at it or change it, without running the application.

use std::{sync::Arc, time::Duration};

use tokio::runtime::{Builder, Runtime};

use super::failure::Failure;
use crate::{
    app::App,
    clock::{Clock, SystemClock},
    cluster::{Cluster, ClusterError},
    config::Settings,
};

/// How long a command asks again when the cluster is not ready to answer, as it is when a coordinator has just moved.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Does something with the cluster of the settings.
pub(crate) fn on<T>(
    app: &App,
    settings: &Settings,
    body: impl AsyncFnOnce(&dyn Cluster, &dyn Clock) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if settings.brokers.is_empty() && app.cluster.is_none() {
        return Err(Failure::usage(
            "there is no cluster: name a broker with `--brokers HOST:PORT` (also by KPROC_BROKERS, or `brokers` in a \
             --config file)",
        ));
    }
    let clock = Arc::new(SystemClock::new());
    let cluster = app.connect(settings, clock.clone()).map_err(Failure::usage)?;
    executor()?.block_on(body(&*cluster, &*clock))
}

/// What futures of a command run on.
pub(crate) fn executor() -> Result<Runtime, Failure> {
    let executor = Builder::new_current_thread().enable_time().build();
    executor.map_err(|error| Failure::run(format!("cannot start: {error}")))
}

/// An error that was left after all patience. If the cluster has not answered, which addresses were asked is what people
/// look for first.
pub(crate) fn why(error: &ClusterError, settings: &Settings) -> String {
    if error.kind.is_transient() && !settings.brokers.is_empty() {
        let brokers = settings.brokers.join(",");
        format!(
            "{error}. Asked for {} s: look whether Kafka runs, and can be reached, at `{brokers}` (`--brokers`)",
            PATIENCE.as_secs()
        )
    } else {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterErrorKind;

    #[test]
    fn no_answer_names_the_brokers_and_others_do_not() {
        let settings = Settings {
            brokers: vec!["here:9092".into(), "there:9092".into()],
            ..Settings::default()
        };
        let silent = ClusterError::new(ClusterErrorKind::Retriable, "describing topics: timed out");
        let text = why(&silent, &settings);
        assert!(
            text.starts_with("describing topics: timed out. ") && text.contains("`here:9092,there:9092`")
        );
        let refused = ClusterError::new(ClusterErrorKind::Unauthorized, "not allowed");
        assert_eq!(why(&refused, &settings), "not allowed");
    }
}
