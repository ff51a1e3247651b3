//! What is judged when all is over: that everything was processed and committed, and that each state on disk, old ones
//! too, is what its changelog comes to at the position that the state has.

use std::{
    fs,
    ops::{Bound, ControlFlow},
    path::{Path, PathBuf},
};

use kproc_store::{Inspector, StoreError};

use super::{
    super::{super::committed, kit::APP},
    machine::Machine,
    observer::Observer,
    workload::{Rows, Verdict, Write},
};
use crate::{Offset, Partition, TopicPartition, cluster::CommittedOffset};

/// Each partition of the input is committed to its end.
pub(super) fn all_is_committed(observer: &Observer, input: &[Write]) -> Verdict {
    for write in input {
        let place = TopicPartition::new(write.topic, Partition::new(write.partition));
        let written = input
            .iter()
            .filter(|other| (other.topic, other.partition) == (write.topic, write.partition));
        let end = Offset::new(written.count() as u64);
        if observer.offset(&place) != end {
            return Err(format!(
                "{place} ends at {end}, and is committed up to {}",
                observer.offset(&place)
            ));
        }
    }
    Ok(())
}

/// The states in this directory are those of their changelogs, unless their next opening would not trust them.
pub(super) fn state_is_right(directory: &Path, observer: &Observer, machine: &Machine) -> Verdict {
    for processor in names(&directory.join(APP)) {
        let directory = directory.join(APP).join(&processor);
        for partition in names(&directory) {
            let Ok(number) = partition.parse() else {
                continue; // Set aside.
            };
            let directory = directory.join(&partition);
            if !machine.trusts(&directory) {
                continue;
            }
            let partition = Partition::new(number);
            environment_is_right(&directory, &processor, partition, observer, machine.is_harmed())?;
        }
    }
    Ok(())
}

/// Whether there are states of this partition, each of them is of the commit that the group has, and something is in one of their
/// changelogs: without that, whoever has no such state takes the partition for a new one.
pub(super) fn is_known_to_states(
    directories: &[PathBuf],
    place: &TopicPartition,
    offset: &CommittedOffset,
) -> bool {
    let time = committed::stream_time(&offset.metadata);
    let (mut known, mut is_logged) = (false, false);
    for directory in directories {
        for processor in names(directory) {
            let directory = directory.join(processor).join(place.partition.to_string());
            let Ok(state) = Inspector::open(&directory) else {
                continue;
            };
            for input in state.last_commit().into_iter().flat_map(|last| last.inputs) {
                if input.topic != *place.topic {
                    continue;
                }
                if (input.next, committed::stream_time(&input.metadata)) != (offset.next, time) {
                    return false;
                }
                known = true;
                // Of another processor of this partition it would say nothing, for that may be of another task.
                let mut stores = state.stores().into_iter().flatten();
                is_logged |= stores.any(|store| store.position > Some(Offset::ZERO));
            }
        }
    }
    known && is_logged
}

fn environment_is_right(
    directory: &Path,
    processor: &str,
    partition: Partition,
    observer: &Observer,
    is_harmed: bool,
) -> Verdict {
    let fault =
        |error: &dyn std::fmt::Display| format!("state of {processor} in partition {partition}: {error}");
    let inspector = Inspector::open(directory).map_err(|error| fault(&error))?;
    for store in inspector.stores().map_err(|error| fault(&error))? {
        let Some(position) = store.position else {
            continue;
        };
        let changelog = format!("{APP}-{processor}-{}-changelog", store.name);
        let changelog = TopicPartition::new(changelog, partition);
        let mut rows = Rows::new();
        let mut each = |key: &[u8], value: &[u8]| {
            rows.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        };
        match inspector.scan(&store.name, (Bound::Unbounded, Bound::Unbounded), &mut each) {
            // Whoever comes to it finds it, too.
            Err(StoreError::Corrupt { .. }) if is_harmed => continue,
            scanned => scanned.map_err(|error| fault(&error))?,
        }
        let due = observer.table(&changelog, position);
        let differs = |key: &&Vec<u8>| {
            rows.get(*key) != due.get(*key) && !observer.is_compacted_away(&changelog, position, key)
        };
        if let Some(key) = rows.keys().chain(due.keys()).find(differs) {
            return Err(format!(
                "store `{}` is at {position} of {changelog}, and has {:?} where that has {:?}",
                store.name,
                rows.get(key).map(|row| String::from_utf8_lossy(row)),
                due.get(key).map(|row| String::from_utf8_lossy(row)),
            ));
        }
    }
    Ok(())
}

/// The names of the directories in there, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
