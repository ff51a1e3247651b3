//! From settings to a Kafka cluster.

use std::sync::Arc;

use crate::{
    clock::Clock,
    cluster::{self, Cluster},
    config::Settings,
};

/// The cluster of the settings' brokers. No connection is made yet. Its deadlines are by this clock.
#[cfg(feature = "kafka")]
pub(crate) fn cluster_of(settings: &Settings, clock: Arc<dyn Clock>) -> cluster::Result<Arc<dyn Cluster>> {
    use cluster::kafka::{KafkaCluster, KafkaOptions};
    let mut options = KafkaOptions::new(settings.brokers.clone(), clock);
    options.properties = settings.librdkafka.clone();
    Ok(Arc::new(KafkaCluster::new(options)?))
}

/// There is no Kafka in this build.
#[cfg(not(feature = "kafka"))]
pub(crate) fn cluster_of(_: &Settings, _: Arc<dyn Clock>) -> cluster::Result<Arc<dyn Cluster>> {
    Err(cluster::ClusterError::new(
        cluster::ClusterErrorKind::Unsupported,
        "this program was built without Kafka: build it with kproc's cargo feature `kafka`, or run it with \
         `--embedded`",
    ))
}
