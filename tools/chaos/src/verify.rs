//! What is looked at when nothing runs any more.

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow},
    path::Path,
};

use kproc::{
    Offset,
    cluster::{Cluster, Result},
};
use kproc_store::Inspector;

use crate::{
    count::{APP, STORE, Tally},
    observe::Observer,
    options::{Options, Processing},
    process::Process,
};

/// The state of one partition in one directory.
#[derive(Debug)]
pub(crate) struct State {
    process: usize,
    partition: u32,
    /// Where in its changelog it is.
    position: Offset,
    entries: BTreeMap<String, Tally>,
}

/// How many states were compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// States of any partition in any directory.
    pub(crate) states: u64,
    /// Entries in them.
    pub(crate) entries: u64,
}

/// Reads all states that there are.
pub(crate) fn states(processes: &[Process], options: &Options) -> std::result::Result<Vec<State>, String> {
    let mut states = Vec::new();
    for process in processes {
        for partition in 0..options.partitions {
            let directory = process.environment(partition);
            if directory.is_dir() {
                let state = read(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
                let (position, entries) = state;
                states.push(State {
                    process: process.number,
                    partition,
                    position,
                    entries,
                });
            }
        }
    }
    Ok(states)
}

fn read(directory: &Path) -> std::result::Result<(Offset, BTreeMap<String, Tally>), String> {
    let environment = Inspector::open(directory).map_err(|error| error.to_string())?;
    let stores = environment.stores().map_err(|error| error.to_string())?;
    let position = stores
        .iter()
        .find(|store| store.name == STORE)
        .and_then(|store| store.position);
    let mut entries = BTreeMap::new();
    let mut wrong = None;
    let all = (Bound::Unbounded, Bound::Unbounded);
    let scan = environment.scan(STORE, all, &mut |key, value| {
        match serde_json::from_slice(value) {
            Ok(tally) => _ = entries.insert(String::from_utf8_lossy(key).into_owned(), tally),
            Err(error) => wrong = Some(error.to_string()),
        }
        ControlFlow::Continue(())
    });
    scan.map_err(|error| error.to_string())?;
    match wrong {
        Some(wrong) => Err(wrong),
        None => Ok((position.unwrap_or(Offset::ZERO), entries)),
    }
}

/// Compares states, key by key. Each must be what the changelog makes of it up to where it is; that of the last owner of a
/// partition must be what came in.
pub(crate) fn compare(states: &[State], observer: &mut Observer, options: &Options) -> Compared {
    let mut compared = Compared::default();
    for partition in 0..options.partitions {
        let of_partition = states.iter().filter(|state| state.partition == partition);
        let last = of_partition.clone().map(|state| state.position).max();
        let history = &observer.history[partition as usize];
        for state in of_partition {
            compared.states += 1;
            compared.entries += state.entries.len() as u64;
            let is_last = Some(state.position) == last;
            // At least once, whoever has lost a partition may have saved what another has written over.
            if options.judged == Processing::AtLeastOnce && !is_last {
                continue;
            }
            let before = history.iter().take_while(|(offset, ..)| *offset < state.position);
            let replayed: BTreeMap<&str, Tally> = before.map(|(_, key, tally)| (&**key, *tally)).collect();
            let own = state.entries.iter().map(|(key, tally)| (&**key, *tally));
            let differs = first_difference(&replayed, &own.collect());
            if let Some(difference) = differs {
                observer.model.violations.add(|| {
                    format!(
                        "the state of partition {partition} in process {} is not that of its changelog at {}: {difference}",
                        state.process, state.position
                    )
                });
            }
        }
        if options.judged == Processing::ExactlyOnce {
            let all: Vec<(String, Tally)> = keys_of(observer, partition);
            let whole = states
                .iter()
                .find(|state| state.partition == partition && Some(state.position) == last);
            let entries = whole.map(|state| {
                state
                    .entries
                    .iter()
                    .map(|(key, tally)| (&**key, *tally))
                    .collect()
            });
            let wanted = all.iter().map(|(key, tally)| (&**key, *tally)).collect();
            if let Some(difference) = first_difference(&wanted, &entries.unwrap_or_default()) {
                let what =
                    format!("the last state of partition {partition} is not what came in: {difference}");
                observer.model.violations.add(|| what);
            }
        }
    }
    compared
}

/// The keys of a partition, with what they have come to.
fn keys_of(observer: &Observer, partition: u32) -> Vec<(String, Tally)> {
    let logged: std::collections::BTreeSet<&str> = observer.history[partition as usize]
        .iter()
        .map(|(_, key, _)| &**key)
        .collect();
    let keys = observer.model.keys().filter(|key| logged.contains(key));
    keys.filter_map(|key| Some((key.to_owned(), observer.model.last(key)?)))
        .collect()
}

fn first_difference(wanted: &BTreeMap<&str, Tally>, found: &BTreeMap<&str, Tally>) -> Option<String> {
    let keys = wanted.keys().chain(found.keys());
    let mut different = keys.filter(|key| wanted.get(*key) != found.get(*key));
    let first = different.next()?;
    let (wanted, found) = (wanted.get(first), found.get(first));
    Some(format!(
        "{first} has {found:?}, not {wanted:?}, and {} more",
        different.count()
    ))
}

/// Looks whether the group has committed everything that came in.
pub(crate) async fn committed(cluster: &dyn Cluster, observer: &mut Observer) -> Result<()> {
    let offsets = cluster.admin()?.group_offsets(APP.to_owned()).await?;
    let ends: Vec<_> = observer
        .input_ends()
        .map(|(place, end)| (place.clone(), end))
        .collect();
    for (place, end) in ends {
        let committed = offsets
            .iter()
            .find(|(other, _)| *other == place)
            .map(|(_, offset)| offset.next);
        if committed.unwrap_or(Offset::ZERO) != end {
            let what = format!("of {place}, which ends at {end}, the group has committed {committed:?}");
            observer.model.violations.add(|| what);
        }
    }
    Ok(())
}
