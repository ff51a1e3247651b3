//! What trials have come to, all together: what happened to instances in the middle of what, and which requests went wrong
//! in which way. So the simulator cannot stop reaching a place without anybody noticing.

use std::{collections::BTreeMap, fmt};

use super::{
    super::super::passages::{self, COMMIT, FALL_BACK, RESTORE, REVOCATION, SETTLEMENT, STATE_FOLLOWS, STOP},
    run::Course,
    site::{STARTS_AGAIN, THAWS, THAWS_LATE, THAWS_TIMED_OUT},
};
use crate::testing::{coverage::Meeting, faults};

/// So many trials must have come to all of it.
pub(super) const ENOUGH: u64 = 20_000;

/// What may happen in the middle of anything.
const ANYWHERE: [&str; 13] = [
    "crash",
    "power loss",
    "cut off",
    "stand still",
    THAWS,
    "forgotten by the group",
    "refused by the group",
    "trouble with the disk",
    "slow messages",
    "coordinator away",
    "the wall clock jumps",
    "compaction",
    passages::WANTED_BACK,
];

/// What happens in the middle of some things.
const SOMEWHERE: &[(&str, &[&str])] = &[
    (
        "stop",
        &[COMMIT, STATE_FOLLOWS, RESTORE, FALL_BACK, SETTLEMENT, REVOCATION],
    ),
    (
        passages::LOST,
        &[
            COMMIT,
            STATE_FOLLOWS,
            RESTORE,
            FALL_BACK,
            SETTLEMENT,
            REVOCATION,
            STOP,
        ],
    ),
    (
        THAWS_LATE,
        &[
            COMMIT,
            STATE_FOLLOWS,
            RESTORE,
            FALL_BACK,
            SETTLEMENT,
            REVOCATION,
            STOP,
        ],
    ),
    (THAWS_TIMED_OUT, &[COMMIT, STATE_FOLLOWS, RESTORE, REVOCATION]),
];

/// What happens at all.
const ONCE: [&str; 4] = [
    passages::WANTED_BACK_UNRESTORED,
    passages::LOST_UNRESTORED,
    passages::REBUILT,
    STARTS_AGAIN,
];

/// See the module.
#[derive(Default)]
pub(super) struct Coverage {
    meetings: BTreeMap<Meeting, u64>,
    mishaps: BTreeMap<String, u64>,
}

impl Coverage {
    /// Adds what a trial has come to.
    pub(super) fn add(&mut self, course: &Course) {
        for (meeting, times) in &course.meetings {
            *self.meetings.entry(*meeting).or_default() += times;
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
        let missing: Vec<String> = missing.into_iter().chain(faults).collect();
        assert!(
            missing.is_empty(),
            "the trials have come to none of these:\n  {}",
            missing.join("\n  ")
        );
    }
}

/// What must come up.
fn due() -> impl Iterator<Item = Meeting> {
    let anywhere = ANYWHERE.iter().map(|what| (*what, &passages::ALL[..]));
    let somewhere = anywhere.chain(SOMEWHERE.iter().copied());
    let meetings = somewhere.flat_map(|(what, all)| all.iter().map(move |passage| (what, Some(*passage))));
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
    ] {
        assert!(missing.contains(due), "{due}: {missing}");
    }
}
