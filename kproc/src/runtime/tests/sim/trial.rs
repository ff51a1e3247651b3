//! A trial, and how it is written: in one line, which a command takes and a file keeps.
//!
//! `counter exactly-once 42` is all of seed 42. `events=1,3` has only these events of its plan, `mishaps=17` only these
//! mishaps, `writes=10` only so many records of its input, `ambushes=1,2` these ambushes of its plan (none, if nothing is
//! said: older trials have none), and `planted=NoRewind` a fault of the runtime's.

use std::{collections::BTreeSet, fmt, str::FromStr};

use super::{
    ambush,
    workload::{ALL, Mode, Workload},
};
use crate::runtime::sabotage::{ALL as FAULTS, Sabotage};

/// See the module.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) workload: &'static dyn Workload,
    pub(super) mode: Mode,
    pub(super) seed: u64,
    /// The numbers of the events that happen; `None`: all.
    pub(super) events: Option<BTreeSet<u64>>,
    /// The numbers of the ambushes that are laid; `None`: none.
    pub(super) ambushes: Option<BTreeSet<u64>>,
    /// The numbers of the mishaps that happen; `None`: all.
    pub(super) mishaps: Option<BTreeSet<u64>>,
    /// How much of the input is written; `None`: all.
    pub(super) writes: Option<usize>,
    pub(super) planted: Option<Sabotage>,
}

const MODES: [(Mode, &str); 2] = [
    (Mode::ExactlyOnce, "exactly-once"),
    (Mode::AtLeastOnce, "at-least-once"),
];

impl Trial {
    /// All of a seed.
    pub(super) fn new(workload: &'static dyn Workload, mode: Mode, seed: u64) -> Self {
        Self {
            workload,
            mode,
            seed,
            events: None,
            ambushes: None,
            mishaps: None,
            writes: None,
            planted: None,
        }
    }

    /// The trial of a number, when workloads and modes take turns, and then those without ambushes and with.
    pub(super) fn numbered(number: u64) -> Self {
        let (modes, loads) = (MODES.len() as u64, ALL.len() as u64);
        let workload = ALL[(number / modes % loads) as usize];
        let trial = Self::new(workload, MODES[(number % modes) as usize].0, number);
        if number / modes / loads % 2 == 1 {
            trial.ambushed()
        } else {
            trial
        }
    }

    /// With all ambushes of its plan.
    pub(super) fn ambushed(self) -> Self {
        Self {
            ambushes: Some((1..=ambush::COUNT).collect()),
            ..self
        }
    }

    /// What to type to see it again.
    pub(super) fn command(&self) -> String {
        format!("KPROC_TRIAL='{self}' cargo test -p kproc --lib sim::replay -- --nocapture")
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = MODES.iter().find(|(mode, _)| *mode == self.mode);
        let mode = mode.map_or("", |(_, name)| name);
        write!(f, "{} {mode} {}", self.workload.name(), self.seed)?;
        for (name, numbers) in [
            ("events", &self.events),
            ("ambushes", &self.ambushes),
            ("mishaps", &self.mishaps),
        ] {
            if let Some(numbers) = numbers {
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                write!(f, " {name}={}", numbers.join(","))?;
            }
        }
        if let Some(writes) = self.writes {
            write!(f, " writes={writes}")?;
        }
        if let Some(planted) = self.planted {
            write!(f, " planted={planted:?}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Trial {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let wrong = |what: &str| format!("`{line}` is no trial: {what}");
        let name = words.next().unwrap_or_default();
        let workload = ALL.iter().find(|workload| workload.name() == name);
        let mode = words.next().unwrap_or_default();
        let mode = MODES.iter().find(|(_, name)| *name == mode);
        let seed = words.next().and_then(|seed| seed.parse().ok());
        let mut trial = Self::new(
            *workload.ok_or_else(|| wrong("there is no such workload"))?,
            mode.ok_or_else(|| wrong("there is no such mode"))?.0,
            seed.ok_or_else(|| wrong("its seed is no number"))?,
        );
        for word in words {
            let (name, value) = word.split_once('=').ok_or_else(|| wrong(word))?;
            let numbers = || {
                let numbers = value.split(',').filter(|number| !number.is_empty());
                numbers
                    .map(|number| number.parse::<u64>().map_err(|_| wrong(word)))
                    .collect::<Result<BTreeSet<u64>, String>>()
            };
            match name {
                "events" => trial.events = Some(numbers()?),
                "ambushes" => trial.ambushes = Some(numbers()?),
                "mishaps" => trial.mishaps = Some(numbers()?),
                "writes" => trial.writes = Some(value.parse().map_err(|_| wrong(word))?),
                "planted" => {
                    let fault = FAULTS.iter().find(|fault| format!("{fault:?}") == value);
                    trial.planted = Some(*fault.ok_or_else(|| wrong(word))?);
                }
                _ => return Err(wrong(word)),
            }
        }
        Ok(trial)
    }
}

#[test]
fn a_trial_is_read_as_it_is_written() {
    for line in [
        "counter exactly-once 42",
        "counter at-least-once 7 events=1,12 ambushes=2,3 mishaps= writes=3 planted=NoRewind",
    ] {
        assert_eq!(line.parse::<Trial>().unwrap().to_string(), line);
    }
    for wrong in [
        "",
        "counter",
        "counter twice 1",
        "counter exactly-once 1 events=x",
        "counter exactly-once 1 often",
    ] {
        assert!(wrong.parse::<Trial>().is_err(), "{wrong}");
    }
}
