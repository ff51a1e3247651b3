//! How far a consumer group is behind: said once, for the command line, for progress bars, and for whoever else asks.
//!
//! What may be here: the definition of lag, and asking a cluster for what it takes. Nothing here depends on whether
//! the application runs, or where: only what the cluster has counts.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    cluster::{Cluster, ClusterError, ClusterErrorKind, Isolation, Result},
    processor::Start,
    record::{Offset, Partition, TopicPartition},
    topology::Topology,
};

/// How far a group is behind, by partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lag {
    /// Every partition of every input, in order of topics and numbers. Topics between processors are inputs, too.
    pub partitions: Vec<PartitionLag>,
}

/// How far a group is behind in one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionLag {
    /// Which one.
    pub partition: TopicPartition,
    /// The next record to process, as committed. `None`: nothing was committed yet.
    pub committed: Option<Offset>,
    /// The first record that there still is.
    pub first: Offset,
    /// The last stable offset: what is written behind it is not decided yet (an open transaction), and can be processed
    /// by nobody.
    pub end: Offset,
    /// Where processing begins as long as nothing was committed.
    pub start: Start,
}

impl PartitionLag {
    /// Where processing goes on: at the committed offset, or else where it will begin.
    pub fn next(&self) -> Offset {
        match (self.committed, self.start) {
            (Some(committed), _) => committed,
            (None, Start::Earliest) => self.first,
            (None, Start::Latest) => self.end,
        }
    }

    /// The lag: how many places there are from [`next`](Self::next) to the end.
    ///
    /// It is about what is *committed*: records that are being processed count until their commit. It does not depend
    /// on whether anybody has the partition, restores it, or has paused it. Places are offsets: those of markers and of
    /// records that were compacted away count as long as they are ahead.
    pub fn lag(&self) -> u64 {
        self.end.since(self.next())
    }

    /// How many places of those that there still are were passed.
    pub fn done(&self) -> u64 {
        self.next().min(self.end).since(self.first)
    }

    /// Whether records were deleted before they were processed: the group cannot go on by itself.
    pub fn has_lost_records(&self) -> bool {
        self.committed.is_some_and(|committed| committed < self.first)
    }

    /// Whether the group has committed what the topic does not have: it was made anew, or has lost records.
    pub fn is_beyond_end(&self) -> bool {
        self.committed.is_some_and(|committed| committed > self.end)
    }
}

impl Lag {
    /// The lag of all partitions together.
    pub fn total(&self) -> u64 {
        self.partitions.iter().map(PartitionLag::lag).sum()
    }

    /// How many places were passed, of all partitions.
    pub fn done(&self) -> u64 {
        self.partitions.iter().map(PartitionLag::done).sum()
    }

    /// Asks the cluster how far a group is with these topics (names in the cluster).
    ///
    /// What was committed is asked for before the ends, so that lag is never said to be smaller than it was.
    /// [`ClusterErrorKind::UnknownTopic`]: one of them does not exist.
    pub async fn measure(
        cluster: &dyn Cluster,
        group: &str,
        inputs: impl IntoIterator<Item = (Arc<str>, Start)>,
    ) -> Result<Self> {
        let inputs: BTreeMap<Arc<str>, Start> = inputs.into_iter().collect();
        let mut admin = cluster.admin()?;
        let found = admin.identify(inputs.keys().cloned().collect()).await?;
        let committed: BTreeMap<_, _> = admin.group_offsets(group.to_owned()).await?.into_iter().collect();
        let mut reader = cluster.reader(Isolation::ReadCommitted)?;
        let mut lag = Self::default();
        for ((name, start), topic) in inputs.into_iter().zip(found) {
            let topic = topic.ok_or_else(|| {
                let message = format_args!("topic `{name}` does not exist");
                ClusterError::new(ClusterErrorKind::UnknownTopic, message)
            })?;
            for number in 0..topic.partitions {
                let partition = TopicPartition::new(name.clone(), Partition::new(number));
                let ends = reader.watermarks(partition.clone()).await?;
                lag.partitions.push(PartitionLag {
                    committed: committed.get(&partition).map(|committed| committed.next),
                    partition,
                    first: ends.earliest,
                    end: ends.stable,
                    start,
                });
            }
        }
        Ok(lag)
    }

    /// Asks the cluster how far an application is.
    pub(crate) async fn of(topology: &Topology, cluster: &dyn Cluster) -> Result<Self> {
        let inputs = topology
            .groups
            .iter()
            .flat_map(|group| group.inputs.iter().zip(&group.starts))
            .map(|(input, start)| (topology.bound(&input.name), *start));
        Self::measure(cluster, &topology.app, inputs).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(committed: Option<u64>, start: Start) -> PartitionLag {
        PartitionLag {
            partition: TopicPartition::new("topic", Partition::new(0)),
            committed: committed.map(Offset::new),
            first: Offset::new(10),
            end: Offset::new(30),
            start,
        }
    }

    #[test]
    fn g16_lag_is_the_way_from_where_processing_goes_on_to_the_end() {
        for (committed, start, lag, done) in [
            (Some(25), Start::Earliest, 5, 15),
            (Some(25), Start::Latest, 5, 15),
            (Some(30), Start::Earliest, 0, 20),
            // Nothing was committed: it depends on where it will begin.
            (None, Start::Earliest, 20, 0),
            (None, Start::Latest, 0, 20),
            // Records were deleted before they were processed, and are still owed.
            (Some(5), Start::Earliest, 25, 0),
            (Some(31), Start::Earliest, 0, 20),
        ] {
            let place = at(committed, start);
            assert_eq!(
                (place.lag(), place.done()),
                (lag, done),
                "{committed:?} {start:?}"
            );
        }
        assert!(at(Some(5), Start::Earliest).has_lost_records());
        assert!(at(Some(31), Start::Earliest).is_beyond_end());
    }
}
