//! What trials have come to, all together: what happened to instances in the middle of what, and which requests went wrong
//! in which way. So the simulator cannot stop reaching a place without anybody noticing.

use std::{collections::BTreeMap, fmt};

use super::{
    super::super::passages::{self, COMMIT, FALL_BACK, RESTORE, SETTLEMENT, STATE_FOLLOWS, STOP},
    ambush,
    run::Course,
    site::{OFFSETS_LOST, STARTS_AGAIN, THAWS, THAWS_LATE, THAWS_TIMED_OUT},
};
use crate::testing::{coverage::Meeting, faults};

/// So many trials must have come to all of it. The rarest comes up a dozen times and more in 20,000, so that none is missing by
/// accident.
pub(super) const ENOUGH: u64 = 30_000;

/// What takes some time.
const LONG: &[&str] = &[COMMIT, STATE_FOLLOWS, RESTORE, FALL_BACK, SETTLEMENT];
/// What is soon over, and the others.
const ALL: &[&str] = passages::ALL;

/// What must come up in the middle of what.
const DUE: &[(&str, &[&str])] = &[
    ("stop", LONG),
    ("crash", ALL),
    ("power loss", LONG),
    ("cut off", ALL),
    ("stand still", ALL),
    (THAWS, LONG),
    (THAWS_LATE, LONG),
    (THAWS_TIMED_OUT, LONG),
    ("forgotten by the group", LONG),
    ("refused by the group", LONG),
    ("trouble with the disk", LONG),
    ("slow messages", ALL),
    ("coordinator away", ALL),
    ("the wall clock jumps", ALL),
    ("compaction", ALL),
    (passages::WANTED_BACK, LONG),
    (passages::WANTED_BACK, &[STOP]),
    (passages::LOST, ALL),
];

/// What happens at all.
const ONCE: [&str; 16] = [
    passages::WANTED_BACK_UNRESTORED,
    passages::LOST_UNRESTORED,
    passages::REBUILT,
    STARTS_AGAIN,
    OFFSETS_LOST,
    "lose state",
    "swap state",
    "copy state, or put the copy back",
    "reboot",
    "data cut short",
    "data gone",
    "sidecar gone",
    "sidecar cut short",
    "header overwritten",
    "page overwritten",
    "value flipped",
];

/// See the module.
#[derive(Default)]
pub(super) struct Coverage {
    meetings: BTreeMap<Meeting, u64>,
    /// By place and deed.
    ambushes: BTreeMap<(&'static str, &'static str), u64>,
    mishaps: BTreeMap<String, u64>,
}

impl Coverage {
    /// Adds what a trial has come to.
    pub(super) fn add(&mut self, course: &Course) {
        for (meeting, times) in &course.meetings {
            *self.meetings.entry(*meeting).or_default() += times;
        }
        for sprung in &course.ambushes {
            *self.ambushes.entry(sprung.meeting).or_default() += 1;
        }
        for mishap in &course.mishaps {
            *self.mishaps.entry(mishap.what.clone()).or_default() += 1;
        }
    }

    /// Fails if anything is missing.
    pub(super) fn is_complete(&self) {
        let missing: Vec<String> = due()
            .filter(|meeting| !self.meetings.contains_key(meeting))
            .map(told)
            .collect();
        let faults = faults::all().filter(|fault: &String| !self.mishaps.contains_key(fault));
        let ambushes = ambush::due()
            .filter(|pair| !self.ambushes.contains_key(pair))
            .map(|(place, deed)| format!("ambush: {place}: {deed}"));
        let missing: Vec<String> = missing.into_iter().chain(faults).chain(ambushes).collect();
        assert!(
            missing.is_empty(),
            "the trials have come to none of these:\n  {}",
            missing.join("\n  ")
        );
    }
}

/// What must come up.
fn due() -> impl Iterator<Item = Meeting> {
    let meetings = DUE
        .iter()
        .flat_map(|(what, all)| all.iter().map(move |passage| (*what, Some(*passage))));
    meetings.chain(ONCE.iter().map(|what| (*what, None)))
}

fn told((what, passage): Meeting) -> String {
    match passage {
        Some(passage) => format!("{what} in {passage}"),
        None => what.to_owned(),
    }
}

/// A line for each thing that happens, and one for each verb of the cluster.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = "";
        for ((what, passage), times) in &self.meetings {
            match passage {
                Some(passage) if *what == last => write!(f, ", {times} in {passage}")?,
                Some(passage) => write!(f, "\n  {what}: {times} in {passage}")?,
                None => write!(f, "\n  {what}: {times}")?,
            }
            last = what;
        }
        for ((place, deed), times) in &self.ambushes {
            if *place == last {
                write!(f, ", {deed} {times}")?;
            } else {
                write!(f, "\n  ambush, {place}: {deed} {times}")?;
            }
            last = place;
        }
        for (what, times) in &self.mishaps {
            let (whom, what) = what.split_once(": ").unwrap_or((what, ""));
            if whom == last {
                write!(f, ", {what} {times}")?;
            } else {
                write!(f, "\n  {whom}: {what} {times}")?;
            }
            last = whom;
        }
        Ok(())
    }
}

#[test]
fn what_is_missing_is_told() {
    let missing = std::panic::catch_unwind(|| Coverage::default().is_complete()).unwrap_err();
    let missing = missing.downcast_ref::<String>().unwrap();
    for due in [
        "crash in the gap between the cluster's commit and the state's",
        "partitions are lost in a restore",
        "EndTransaction: LoseAnswer",
        "Commit: Refuse(OwnershipLost)",
        "started again after a failure",
        "ambush: a task is handed to a worker: stand still",
    ] {
        assert!(missing.contains(due), "{due}: {missing}");
    }
}
