//! What topics are fed with: the demonstration's own data, or files. On either cluster.

use std::sync::Arc;

use super::{args::FeedArgs, failure::Failure, feed::FeedFile, progress::Progress};
use crate::{
    app::{Feed, FeedWith, Partitions, Topics, make_topics, write},
    cluster::Cluster,
    config::{did_you_mean, nearest},
    topic::AnyTopic,
    topology::Topology,
};

/// Feeds records; returns what is to be told at the end, although the rest went well.
pub(crate) type FeedJob = Box<dyn FnOnce(&mut Feed, &Partitions) -> Result<Option<Failure>, Failure> + Send>;

/// What was fed.
pub(crate) struct Fed {
    /// So many records.
    pub(crate) records: u64,
    /// What is to be told at the end, although the rest went well.
    pub(crate) postponed: Option<Failure>,
}

/// What there is to be fed, if anything: the files, or else the demonstration's data. Opens the files.
pub(crate) fn job(
    demo: Option<FeedWith>,
    known: &Topics,
    args: &FeedArgs,
) -> Result<Option<FeedJob>, Failure> {
    if args.files.is_empty() {
        return Ok(
            demo.map(|feed| -> FeedJob { Box::new(|to, _| feed(to).map(|()| None).map_err(Failure::run)) })
        );
    }
    if args.files.iter().filter(|(_, path)| path == "-").count() > 1 {
        return Err(Failure::usage("standard input can be fed to one topic only"));
    }
    let mut files = Vec::new();
    for (topic, path) in &args.files {
        let topic = find(known, topic)?.clone();
        files.push(FeedFile::open(topic, path, args.format, args.partial)?);
    }
    Ok(Some(Box::new(move |feed, partitions| {
        let mut postponed = None;
        for file in files {
            postponed = postponed.or(file.feed(feed, partitions)?);
        }
        Ok(postponed)
    })))
}

/// The topic of this name, which must be declared: only then is it known what its values are.
fn find<'t>(topics: &'t Topics, name: &str) -> Result<&'t AnyTopic, Failure> {
    topics.get(name).ok_or_else(|| {
        let names: Vec<&str> = topics.keys().map(|name| &**name).collect();
        let near = did_you_mean(nearest(name, names.iter().copied()));
        Failure::usage(format!(
            "unknown topic `{name}`{near} (known: {})",
            names.join(", ")
        ))
    })
}

/// Makes the declared topics that are missing, with this many partitions, and feeds them.
pub(crate) async fn feed(
    cluster: &dyn Cluster,
    topology: Arc<Topology>,
    partitions: u32,
    job: Option<FeedJob>,
    progress: &mut Progress,
) -> Result<Fed, Failure> {
    let made = make_topics(cluster, &topology, partitions).await;
    let partitions = made.map_err(|error| Failure::run(format!("cannot make topics: {error}")))?;
    let mut fed = Fed {
        records: 0,
        postponed: None,
    };
    let Some(job) = job else { return Ok(fed) };
    tracing::debug!("feeding");
    let job = move |feed: &mut Feed| job(feed, &partitions);
    fed.postponed = write(cluster, topology, job, |records| {
        fed.records = records;
        progress.count(records);
    })
    .await?;
    Ok(fed)
}
