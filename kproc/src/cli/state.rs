//! Looking into local state: nothing is changed, and an application that is running is not disturbed.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    ops::{Bound, ControlFlow},
    path::{Path, PathBuf},
};

use kproc_store::{Inspector, StoreInfo, StoreSpec, StoreText};
use serde::Serialize;

use super::{describe, failure::Failure, lines, output::Output};
use crate::{
    codec::Text,
    config::{did_you_mean, nearest},
    topology::{ProcessorSpec, Topology},
};

/// The state of an application in a state directory.
pub(crate) struct State<'t> {
    topology: &'t Topology,
    /// `<state_dir>/<app>`: in it `<processor>/<partition>`.
    directory: PathBuf,
}

/// A store, by number: of its processor, and of the store in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId {
    processor: usize,
    store: usize,
}

/// An entry, as a line of JSON.
#[derive(Serialize)]
struct Entry {
    partition: u32,
    key: Text,
    value: Text,
}

impl<'t> State<'t> {
    pub(crate) fn new(topology: &'t Topology, state_dir: &Path) -> Self {
        Self {
            topology,
            directory: state_dir.join(&*topology.app),
        }
    }

    /// The text of `state list`: every store of every partition.
    pub(crate) fn list(&self) -> Result<String, Failure> {
        let mut rows = vec![
            [
                "STORE",
                "PARTITION",
                "HOLDS",
                "ENTRIES",
                "CHANGELOG AT",
                "COMMITTED",
            ]
            .map(str::to_owned),
        ];
        // Whatever is there, also of processors that the program no longer has.
        for processor in self.processors()? {
            for (partition, environment) in self.environments(&processor)? {
                let committed = environment.last_commit().map_err(Failure::run)?.committed_at;
                for info in environment.stores().map_err(Failure::run)? {
                    let StoreInfo {
                        name,
                        kind,
                        key,
                        value,
                        entries,
                        position,
                    } = info;
                    rows.push([
                        format!("{processor}/{name}"),
                        partition.to_string(),
                        format!("{kind} ({key} -> {value})"),
                        entries.to_string(),
                        position.map_or("-".into(), |place| place.to_string()),
                        committed.map_or("-".into(), |moment| moment.to_string()),
                    ]);
                }
            }
        }
        Ok(describe::table(&rows))
    }

    /// Writes what is under a key, in whichever partition it is.
    pub(crate) fn get(&self, store: StoreId, key: &str, output: &mut Output) -> Result<(), Failure> {
        let (processor, spec, text) = self.of(store);
        let wrong = |what| Failure::usage(format!("key {key:?} of store `{}`: {what}", spec.name));
        let encoded = lines::parse_key(key, &spec.key, text.key_from_text).map_err(wrong)?;
        self.processors()?;
        let environments = self.environments(&processor.name)?;
        for key in encoded {
            let mut found = false;
            for (partition, environment) in &environments {
                if let Some(value) = environment.get(&spec.name, &key).map_err(Failure::run)? {
                    found = true;
                    self.write(store, *partition, &key, &value, output)?;
                }
            }
            if found {
                return Ok(());
            }
        }
        Err(Failure::run(format!(
            "store `{}` has nothing under the key {key:?}",
            spec.name
        )))
    }

    /// Writes the entries of a store: partition after partition, in key order, `limit` at most.
    pub(crate) fn scan(
        &self,
        store: StoreId,
        limit: Option<usize>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let (processor, spec, _) = self.of(store);
        self.processors()?;
        let mut left = limit.unwrap_or(usize::MAX);
        for (partition, environment) in self.environments(&processor.name)? {
            let mut result = Ok(());
            let scan = environment.scan(
                &spec.name,
                (Bound::Unbounded, Bound::Unbounded),
                &mut |key, value| {
                    if left == 0 || !output.is_open() {
                        return ControlFlow::Break(());
                    }
                    left -= 1;
                    result = self.write(store, partition, key, value, output);
                    if result.is_ok() {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                },
            );
            scan.map_err(Failure::run)?;
            result?;
        }
        Ok(())
    }

    fn write(
        &self,
        store: StoreId,
        partition: u32,
        key: &[u8],
        value: &[u8],
        output: &mut Output,
    ) -> Result<(), Failure> {
        let (_, spec, text) = self.of(store);
        let wrong = |error| Failure::run(format!("store `{}`, partition {partition}: {error}", spec.name));
        let key = (text.key_to_text)(key).map_err(wrong)?;
        let value = (text.value_to_text)(value).map_err(wrong)?;
        let mut line = serde_json::to_vec(&Entry {
            partition,
            key,
            value,
        })
        .map_err(Failure::run)?;
        line.push(b'\n');
        output.write(&line)
    }

    /// The environments of a processor, by partition.
    fn environments(&self, processor: &str) -> Result<Vec<(u32, Inspector)>, Failure> {
        let directory = self.directory.join(processor);
        let mut partitions: Vec<u32> = names_in(&directory)?
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        partitions.sort_unstable();
        let open = |partition: u32| {
            let environment =
                Inspector::open(&directory.join(partition.to_string())).map_err(Failure::run)?;
            if let Some(doubt) = environment.doubt() {
                tracing::warn!(
                    processor,
                    partition,
                    "this state would be rebuilt at the next start: {doubt}"
                );
            }
            Ok((partition, environment))
        };
        partitions.into_iter().map(open).collect()
    }
}

impl StoreId {
    /// The store whose changelog has this name in the cluster.
    pub(crate) fn of_changelog(topology: &Topology, name: &str) -> Option<Self> {
        let mut stores = topology.logged_stores();
        let (processor, store) =
            stores.find(|(processor, store)| *topology.changelog(*processor, *store) == *name)?;
        Some(Self { processor, store })
    }

    /// How its keys and values are shown.
    pub(crate) fn text(self, topology: &Topology) -> &StoreText {
        &topology.processors[self.processor].texts[self.store]
    }

    /// The store of this name, or of this `processor/store`.
    pub(crate) fn find(topology: &Topology, name: &str) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for (processor, spec) in topology.processors.iter().enumerate() {
            for (store, (store_spec, _)) in spec.stores.iter().enumerate() {
                all.push((
                    format!("{}/{}", spec.name, store_spec.name),
                    Self { processor, store },
                ));
            }
        }
        let short = |full: &str| full.rsplit('/').next().unwrap_or_default().to_owned();
        let found: Vec<_> = all
            .iter()
            .filter(|(full, _)| full == name || short(full) == name)
            .collect();
        let names = || {
            all.iter()
                .map(|(full, _)| full.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match found[..] {
            [(_, store)] => Ok(*store),
            [] => {
                let shorts: Vec<_> = all.iter().map(|(full, _)| short(full)).collect();
                let known = all
                    .iter()
                    .map(|(full, _)| full.as_str())
                    .chain(shorts.iter().map(String::as_str));
                let near = did_you_mean(nearest(name, known));
                Err(Failure::usage(format!(
                    "unknown store `{name}`{near} (known: {})",
                    names()
                )))
            }
            _ => Err(Failure::usage(format!(
                "several processors have a store `{name}`: name one of {}",
                names()
            ))),
        }
    }
}

impl State<'_> {
    fn of(&self, id: StoreId) -> (&ProcessorSpec, &StoreSpec, &StoreText) {
        let processor = &self.topology.processors[id.processor];
        (
            processor,
            &processor.stores[id.store].0,
            &processor.texts[id.store],
        )
    }

    /// The directories in the application's directory. None at all is an error: it is the wrong directory, or the
    /// application has never run. Files there are not of processors.
    fn processors(&self) -> Result<BTreeSet<String>, Failure> {
        let mut names = names_in(&self.directory)?;
        names.retain(|name| self.directory.join(name).is_dir());
        if names.is_empty() {
            let directory = self.directory.display();
            return Err(Failure::usage(format!(
                "there is no state in {directory}: the application has not run there (see --state-dir)"
            )));
        }
        Ok(names)
    }
}

/// The directories of all environments in an application's directory, also of processors that there are no more.
pub(crate) fn environments_in(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut environments = Vec::new();
    for processor in names_in(directory)? {
        let processor = directory.join(processor);
        if processor.is_dir() {
            let partitions = names_in(&processor)?
                .into_iter()
                .filter(|name| name.parse::<u32>().is_ok());
            environments.extend(partitions.map(|partition| processor.join(partition)));
        }
    }
    Ok(environments)
}

/// The names in a directory; none if it does not exist.
fn names_in(directory: &Path) -> Result<BTreeSet<String>, Failure> {
    let failed = |error| Failure::run(format!("cannot read {}: {error}", directory.display()));
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries.map_err(failed)?,
    };
    entries
        .map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into_owned()))
        .collect()
}
