//! What a counting application has written, as an observer of committed records sees it.

use std::{collections::BTreeMap, time::Duration};

use kproc::{
    Clock, Partition, TopicPartition,
    cluster::{Cluster, ClusterErrorKind, Isolation, Result},
};

/// Counts, in order for each key.
pub(crate) type Counts = BTreeMap<String, Vec<u64>>;

/// A bound against hanging, which no machine reaches, however busy it is.
const PATIENCE: Duration = Duration::from_secs(180);

/// All counts that are in a topic. Waits for a broker that is away.
pub(crate) async fn read(cluster: &dyn Cluster, clock: &dyn Clock, topic: &str) -> Counts {
    let patience = clock.now() + PATIENCE;
    loop {
        match try_read(cluster, topic).await {
            Ok(counts) => return counts,
            // The broker may just be coming back.
            Err(error) if error.kind == ClusterErrorKind::Retriable => {
                assert!(clock.now() < patience, "after a long time: {error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn try_read(cluster: &dyn Cluster, topic: &str) -> Result<Counts> {
    let found = cluster.admin()?.identify(vec![topic.into()]).await?;
    let partitions = found[0].as_ref().map_or(0, |topic| topic.partitions);
    let mut counts = Counts::new();
    let mut reader = cluster.reader(Isolation::ReadCommitted)?;
    for number in 0..partitions {
        let place = TopicPartition::new(topic, Partition::new(number));
        let ends = reader.watermarks(place.clone()).await?;
        let mut next = ends.earliest;
        while next < ends.stable {
            let wait = Duration::from_secs(10);
            let mut read = reader.read(place.clone(), next, 1000, wait).await?;
            next = read.next;
            while let Some(record) = read.batch.record(0, place.partition) {
                let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
                let count = u64::from_be_bytes(record.value.unwrap().try_into().unwrap());
                counts.entry(key).or_default().push(count);
                read.batch.advance();
            }
        }
    }
    Ok(counts)
}

/// How many counts there are.
pub(crate) fn number_of(counts: &Counts) -> usize {
    counts.values().map(Vec::len).sum()
}
