//! How far an application is through its inputs.

use std::sync::Arc;

use crate::{
    cluster::{Cluster, Isolation, Result},
    record::{Partition, TopicPartition},
    topology::Topology,
};

/// Records of all inputs, topics between processors included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lag {
    /// So many were processed, and that is committed.
    pub(crate) done: u64,
    /// So many there are at the moment.
    pub(crate) whole: u64,
}

/// Asks the cluster.
pub(crate) async fn measure(cluster: &dyn Cluster, topology: &Topology) -> Result<Lag> {
    let mut admin = cluster.admin()?;
    let inputs = topology.groups.iter().flat_map(|group| &group.inputs);
    let topics: Vec<Arc<str>> = inputs.map(|input| topology.bound(&input.name)).collect();
    let described = admin.describe(topics).await?;
    let committed = admin.group_offsets(topology.app.to_string()).await?;
    let mut reader = cluster.reader(Isolation::ReadCommitted)?;
    let mut lag = Lag::default();
    for topic in described.into_iter().flatten() {
        for number in 0..topic.partitions {
            let partition = TopicPartition::new(topic.name.clone(), Partition::new(number));
            let ends = reader.watermarks(partition.clone()).await?;
            lag.whole += ends.stable.since(ends.earliest);
            if let Some((_, committed)) = committed.iter().find(|(of, _)| *of == partition) {
                lag.done += committed.next.since(ends.earliest);
            }
        }
    }
    Ok(lag)
}
