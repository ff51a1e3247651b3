//! `load`: writes the demonstration's data, or files, to topics on Kafka.

use std::sync::Arc;

use tokio::select;

use super::{
    args::FeedArgs, cluster, failure::Failure, input, names, progress::Progress, signal::Interrupted,
};
use crate::{
    app::App,
    cluster::{self as verbs, Cluster, Isolation},
    config::Settings,
    record::{Partition, TopicPartition},
    runtime::retried,
};

/// Writes, and says what was written.
pub(crate) fn load(mut app: App, settings: &Settings, args: &FeedArgs, quiet: bool) -> Result<(), Failure> {
    let topology = Arc::new(names::topology(&app, settings)?);
    let demo = app.demo.take().map(|demo| demo.feed);
    let Some(job) = input::job(demo, &topology.declared_topics(), args)? else {
        return Err(Failure::usage(
            "this program has no data of its own: name the files to be written, with `--feed TOPIC=FILE`",
        ));
    };
    // The demonstration's data may go to any topic.
    let names = topology.declared_topics().into_keys();
    let fed: Vec<_> = names
        .filter(|name| args.files.is_empty() || args.files.iter().any(|(topic, _)| **topic == **name))
        .map(|name| topology.bound(&name))
        .collect();
    let mut interrupted =
        Interrupted::watch().map_err(|error| Failure::run(format!("cannot watch signals: {error}")))?;
    cluster::on(&app, settings, async |cluster, clock| {
        let there = retried(clock, cluster::PATIENCE, || filled(cluster, &fed)).await;
        let there = there.map_err(|error| {
            let why = cluster::why(&error, settings);
            Failure::run(format!("cannot look at the topics: {why}"))
        })?;
        for topic in there {
            tracing::info!("topic `{topic}` has records already; what is loaded comes after them");
        }
        let (mut progress, begin) = (Progress::new("loading", quiet), clock.now());
        let loading = input::feed(cluster, topology, settings.partitions, Some(job), &mut progress);
        let fed = select! { biased;
            number = interrupted.number() => {
                return Err(Failure::stopped(number, "stopped before all was written; loading again writes it twice"));
            }
            fed = loading => fed?,
        };
        drop(progress);
        let seconds = clock.now().saturating_sub(begin).as_secs_f64();
        tracing::info!("{} records written in {seconds:.1} s", fed.records);
        fed.postponed.map_or(Ok(()), Err)
    })
}

/// Those of these topics that are not empty: loading twice is soon done, and not soon undone.
async fn filled(cluster: &dyn Cluster, topics: &[Arc<str>]) -> verbs::Result<Vec<Arc<str>>> {
    let mut reader = cluster.reader(Isolation::ReadUncommitted)?;
    let mut filled = Vec::new();
    for topic in cluster
        .admin()?
        .identify(topics.to_vec())
        .await?
        .into_iter()
        .flatten()
    {
        for number in 0..topic.partitions {
            let place = TopicPartition::new(topic.name.clone(), Partition::new(number));
            let ends = reader.watermarks(place).await?;
            if ends.earliest < ends.latest {
                filled.push(topic.name);
                break;
            }
        }
    }
    Ok(filled)
}
