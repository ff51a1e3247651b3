//! From settings to a Kafka cluster.

use std::sync::Arc;

use super::App;
use crate::{
    clock::Clock,
    cluster::{self, Cluster},
    config::Settings,
    runtime::RunError,
};

impl App {
    /// The cluster that the program brought with it, or that of the settings' brokers. No connection is made yet.
    pub(crate) fn connect(
        &self,
        settings: &Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Cluster>, RunError> {
        if let Some(cluster) = &self.cluster {
            return Ok(cluster.clone());
        }
        if settings.brokers.is_empty() {
            return Err(RunError::Check(vec![
                "there is no cluster: set `brokers`, or give the application a cluster with `App::on`"
                    .to_owned(),
            ]));
        }
        self.cluster_of(settings, clock)
            .map_err(|error| RunError::Check(vec![error.to_string()]))
    }

    /// The cluster of the settings' brokers. Its deadlines are by this clock.
    #[cfg(feature = "kafka")]
    fn cluster_of(&self, settings: &Settings, clock: Arc<dyn Clock>) -> cluster::Result<Arc<dyn Cluster>> {
        use cluster::kafka::{KafkaCluster, KafkaOptions};
        let mut options = KafkaOptions::new(settings.brokers.clone(), clock);
        options.properties = settings.librdkafka.clone();
        options.tokens.clone_from(&self.tokens);
        Ok(Arc::new(KafkaCluster::new(options)?))
    }

    /// There is no Kafka in this build.
    #[cfg(not(feature = "kafka"))]
    #[expect(clippy::unused_self, reason = "as with Kafka")]
    fn cluster_of(&self, _: &Settings, _: Arc<dyn Clock>) -> cluster::Result<Arc<dyn Cluster>> {
        Err(cluster::ClusterError::new(
            cluster::ClusterErrorKind::Unsupported,
            "this program was built without Kafka: build it with kproc's cargo feature `kafka`, or run it with \
             `--embedded`",
        ))
    }
}
