//! What topics and stores hold at the end, as lines of JSON.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    args::RunArgs,
    failure::Failure,
    lines::{self, ToText},
    names::mistyped,
    output::{Destination, Output},
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
    to: Destination,
}

enum What {
    Topic(String),
    Changelog(StoreId, String),
    Store(StoreId),
}

impl Dump {
    /// Opens the files of all `TOPIC=FILE` and `STORE=FILE`, so that one that cannot be written is found before
    /// the work and not after it. Nothing may be named twice, nor be a file that is fed.
    pub(crate) fn open_all(topology: &Topology, args: &RunArgs) -> Result<Vec<Self>, Failure> {
        let topics = args
            .dumps
            .iter()
            .map(|(name, path)| Ok((What::topic(topology, name)?, name, path)));
        let stores = args
            .state_dumps
            .iter()
            .map(|(name, path)| Ok((What::Store(StoreId::find(topology, name)?), name, path)));
        let wanted: Vec<_> = topics.chain(stores).collect::<Result<_, Failure>>()?;
        let mut seen = BTreeSet::new();
        if let Some((_, name, path)) = wanted.iter().find(|(.., path)| !seen.insert(place(path))) {
            let path = if *path == "-" { "standard output" } else { path };
            return Err(Failure::usage(format!(
                "two dumps go to {path}, and could not be told apart: name another file for `{name}`"
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
                    to: Destination::open(path)?,
                })
            })
            .collect()
    }

    /// Whether it goes to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.to.is_stdout()
    }

    /// Writes all there is, partition after partition. The application has stopped.
    pub(crate) async fn write(self, cluster: &dyn Cluster, plan: &Plan) -> Result<(), Failure> {
        let topology = &*plan.topology;
        let Self { what, to } = self;
        let (name, bound, texts) = match what {
            What::Store(store) => {
                let mut output = to.begin()?;
                State::new(topology, &plan.settings.state_dir).scan(store, None, &mut output)?;
                return output.finish();
            }
            What::Topic(name) => {
                let known = topology.used_topics();
                let Some(topic) = known.get(&*name) else {
                    let near = did_you_mean(nearest(&name, known.keys().map(|name| &**name)));
                    return Err(Failure::run(format!(
                        "nothing was sent to a topic `{name}`, and no processor declares it{near}"
                    )));
                };
                let bound = topology.bound(&name);
                (name, bound, (topic.key.to_text, topic.value.to_text))
            }
            What::Changelog(store, name) => {
                let text = store.text(topology);
                let bound = name.as_str().into();
                (name, bound, (text.key_to_text, text.value_to_text))
            }
        };
        let mut output = to.begin()?;
        write_records(&name, &bound, texts, cluster, &mut output).await?;
        output.finish()
    }
}

impl What {
    /// A topic of the program, or a changelog. Outputs need not be declared, so any name may turn out to be one; but
    /// what looks like a slip is refused.
    fn topic(topology: &Topology, name: &str) -> Result<Self, Failure> {
        if let Some(store) = StoreId::of_changelog(topology, name) {
            return Ok(Self::Changelog(store, name.to_owned()));
        }
        let declared = topology.declared_topics();
        if !declared.contains_key(name) && topology.bindings.get(name).is_none() {
            let changelogs: Vec<_> = topology.changelogs().collect();
            if let Some(near) = mistyped(name, declared.keys().chain(&changelogs).map(|name| &**name)) {
                let near = did_you_mean(Some(near));
                return Err(Failure::usage(format!("unknown topic `{name}`{near}")));
            }
        }
        Ok(Self::Topic(name.to_owned()))
    }
}

/// The same for two paths to the same file, also if it is not there yet.
fn place(path: &str) -> PathBuf {
    let of_parent = || {
        let parent = match Path::new(path).parent()? {
            parent if parent.as_os_str().is_empty() => Path::new("."),
            parent => parent,
        };
        Some(fs::canonicalize(parent).ok()?.join(Path::new(path).file_name()?))
    };
    match path {
        "-" => path.into(),
        _ => fs::canonicalize(path)
            .ok()
            .or_else(of_parent)
            .unwrap_or_else(|| path.into()),
    }
}

/// Whether this is a file that is to be read. (What is no file, such as a terminal, may well be both.)
fn is_fed(path: &str, args: &RunArgs) -> bool {
    let file = |path: &str| fs::canonicalize(path).ok().filter(|path| path.is_file());
    file(path).is_some_and(|dump| {
        let mut fed = args.feed.files.iter().filter_map(|(_, path)| file(path));
        fed.any(|fed| fed == dump)
    })
}

async fn write_records(
    name: &str,
    bound: &Arc<str>,
    texts: (ToText, ToText),
    cluster: &dyn Cluster,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    let mut problem = None;
    let walk = each_record(cluster, bound, |record| {
        line.clear();
        let written = lines::write_json(record, texts, &mut line).map_err(|what| {
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
