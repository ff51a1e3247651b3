//! What topics hold, as lines of JSON.

use std::collections::BTreeSet;

use super::{failure::Failure, lines, output::Output};
use crate::{
    app::each_record,
    cluster::Cluster,
    config::{did_you_mean, nearest},
    topology::Topology,
};

/// A topic to be written to a file.
pub(crate) struct Dump {
    topic: String,
    output: Output,
}

impl Dump {
    /// Opens the files of all `TOPIC=FILE`, so that one that cannot be written is found before the work and not
    /// after it. No file may be named twice, except standard output.
    pub(crate) fn open_all(pairs: &[(String, String)]) -> Result<Vec<Self>, Failure> {
        let mut seen = BTreeSet::new();
        let open = |(topic, path): &(String, String)| {
            if path != "-" && !seen.insert(path.clone()) {
                return Err(Failure::usage(format!(
                    "two dumps go to {path}: name another file for `{topic}`"
                )));
            }
            Ok(Self {
                topic: topic.clone(),
                output: Output::open(path)?,
            })
        };
        pairs.iter().map(open).collect()
    }

    /// Whether it goes to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.output.is_stdout()
    }

    /// Writes all records of the topic, partition after partition.
    pub(crate) async fn write(self, cluster: &dyn Cluster, topology: &Topology) -> Result<(), Failure> {
        let Self {
            topic: name,
            mut output,
        } = self;
        let known = topology.used_topics();
        // Outputs need not be declared: one that nothing was sent to cannot be told from one that is misspelt.
        let Some(topic) = known.get(&*name) else {
            let near = did_you_mean(nearest(&name, known.keys().map(|name| &**name)));
            tracing::warn!("nothing was sent to a topic `{name}`{near}");
            return output.finish();
        };
        let mut line = Vec::new();
        let mut problem = None;
        let bound = topology.bound(&name);
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
        match problem {
            Some(problem) => Err(problem),
            None => output.finish(),
        }
    }
}
