//! What topics and stores hold at the end, as lines of JSON.

use std::{collections::BTreeSet, fs};

use super::{
    args::RunArgs,
    failure::Failure,
    lines,
    output::Output,
    state::{State, StoreId},
};
use crate::{
    app::each_record,
    cluster::Cluster,
    config::{did_you_mean, nearest},
    runtime::Plan,
    topology::Topology,
};

/// A topic or a store to be written to a file.
pub(crate) struct Dump {
    what: What,
    output: Output,
}

enum What {
    Topic(String),
    Store(StoreId),
}

impl Dump {
    /// Opens the files of all `TOPIC=FILE` and `STORE=FILE`, so that one that cannot be written is found before
    /// the work and not after it. No file may be named twice, or be one that is fed, except standard output.
    pub(crate) fn open_all(topology: &Topology, args: &RunArgs) -> Result<Vec<Self>, Failure> {
        let topics = args
            .dumps
            .iter()
            .map(|(name, path)| Ok((What::Topic(name.clone()), name, path)));
        let stores = args
            .state_dumps
            .iter()
            .map(|(name, path)| Ok((What::Store(StoreId::find(topology, name)?), name, path)));
        let wanted: Vec<_> = topics.chain(stores).collect::<Result<_, Failure>>()?;
        let mut seen = BTreeSet::new();
        if let Some((_, name, path)) = wanted
            .iter()
            .find(|(.., path)| *path != "-" && !seen.insert(*path))
        {
            return Err(Failure::usage(format!(
                "two dumps go to {path}: name another file for `{name}`"
            )));
        }
        if let Some((_, name, path)) = wanted.iter().find(|(.., path)| is_fed(path, args)) {
            return Err(Failure::usage(format!(
                "{path} is fed, and would be emptied to take a dump: name another file for `{name}`"
            )));
        }
        wanted
            .into_iter()
            .map(|(what, _, path)| {
                Ok(Self {
                    what,
                    output: Output::open(path)?,
                })
            })
            .collect()
    }

    /// Whether it goes to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.output.is_stdout()
    }

    /// Writes all there is, partition after partition. The application has stopped.
    pub(crate) async fn write(self, cluster: &dyn Cluster, plan: &Plan) -> Result<(), Failure> {
        let Self { what, mut output } = self;
        match what {
            What::Topic(name) => write_topic(&name, cluster, &plan.topology, &mut output).await?,
            What::Store(store) => {
                State::new(&plan.topology, &plan.settings.state_dir).scan(store, None, &mut output)?;
            }
        }
        output.finish()
    }
}

/// Whether this is a file that is to be read. (What is no file, such as a terminal, may well be both.)
fn is_fed(path: &str, args: &RunArgs) -> bool {
    let file = |path: &str| fs::canonicalize(path).ok().filter(|path| path.is_file());
    file(path).is_some_and(|dump| {
        let mut fed = args.feeds.iter().filter_map(|(_, path)| file(path));
        fed.any(|fed| fed == dump)
    })
}

async fn write_topic(
    name: &str,
    cluster: &dyn Cluster,
    topology: &Topology,
    output: &mut Output,
) -> Result<(), Failure> {
    let known = topology.used_topics();
    // Outputs need not be declared: one that nothing was sent to cannot be told from one that is misspelt.
    let Some(topic) = known.get(name) else {
        let near = did_you_mean(nearest(name, known.keys().map(|name| &**name)));
        tracing::warn!("nothing was sent to a topic `{name}`{near}");
        return Ok(());
    };
    let mut line = Vec::new();
    let mut problem = None;
    let bound = topology.bound(name);
    let walk = each_record(cluster, &bound, |record| {
        line.clear();
        let written = lines::write_json(record, topic, &mut line).map_err(|what| {
            let (partition, offset) = (record.partition, record.offset);
            Failure::run(format!(
                "cannot dump topic `{name}`, partition {partition}, offset {offset}: {what}"
            ))
        });
        problem = written.and_then(|()| output.write(&line)).err();
        problem.is_none() && output.is_open()
    });
    walk.await
        .map_err(|error| Failure::run(format!("cannot read topic `{name}`: {error}")))?;
    problem.map_or(Ok(()), Err)
}
