//! How much restores had to replay, from the logs of the processes.

use std::{collections::BTreeMap, fmt, fs};

use serde::Deserialize;

use crate::process::Process;

/// What came before a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Before {
    /// The process had no state of the partition: it never had it, or was wiped.
    Nothing,
    Kill,
    Stop,
    /// The process had the partition before, in this life.
    Running,
}

impl Before {
    pub(crate) const ALL: [Self; 4] = [Self::Nothing, Self::Kill, Self::Stop, Self::Running];
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nothing => "nothing (no state)",
            Self::Kill => "kill -9",
            Self::Stop => "clean stop",
            Self::Running => "while running",
        })
    }
}

/// A restore of one task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Restore {
    pub(crate) before: Before,
    pub(crate) replayed: u64,
    pub(crate) entries: u64,
}

/// What a log tells.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) restores: Vec<Restore>,
    /// Times that a task went back to its last commit.
    pub(crate) fallen_back: u64,
    /// Partitions that were lost: somebody else had them already.
    pub(crate) lost: u64,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    chaos: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    task: String,
    #[serde(default)]
    replayed: u64,
    #[serde(default)]
    entries: u64,
}

/// Reads the logs of these processes.
pub(crate) fn read(processes: &[Process]) -> Told {
    let mut told = Told::default();
    for process in processes {
        // A process that never began has no log.
        let log = fs::read(process.log()).unwrap_or_default();
        read_log(&String::from_utf8_lossy(&log), &mut told);
    }
    told
}

fn read_log(log: &str, told: &mut Told) {
    // How the last life ended, and which tasks there is state of: from this life, or from one before.
    let mut ended = Before::Nothing;
    let mut had = BTreeMap::new();
    for line in log.lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else {
            continue;
        };
        match &*line.chaos {
            "killed" | "ended" => ended = Before::Kill,
            "stopped" => ended = Before::Stop,
            "wiped" => had.clear(),
            "started" => had.values_mut().for_each(|before| *before = ended),
            _ => {}
        }
        if line.message == "state is restored" {
            let before = had.insert(line.task, Before::Running);
            told.restores.push(Restore {
                before: before.unwrap_or(Before::Nothing),
                replayed: line.replayed,
                entries: line.entries,
            });
        }
        told.lost += u64::from(line.message.starts_with("lost: "));
        told.fallen_back += u64::from(line.message.contains("goes back to its last commit"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restores_are_told_by_what_came_before() {
        let restored = |task: &str, replayed: u64| {
            format!(
                "{{\"level\":\"DEBUG\",\"message\":\"state is restored\",\"task\":\"{task}\",\"replayed\":{replayed},\"entries\":9}}"
            )
        };
        let log = [
            "{\"chaos\":\"started\"}".to_owned(),
            restored("0/1", 0),
            "{\"chaos\":\"killed\"}".to_owned(),
            "a word without braces".to_owned(),
            "{\"chaos\":\"started\"}".to_owned(),
            restored("0/1", 3),
            "{\"message\":\"lost: somebody else may be processing it already\"}".to_owned(),
            restored("0/1", 4),
            restored("0/2", 7),
            "{\"chaos\":\"stopped\"}".to_owned(),
            "{\"chaos\":\"wiped\"}".to_owned(),
            "{\"chaos\":\"started\"}".to_owned(),
            restored("0/1", 9),
        ];
        let mut told = Told::default();
        read_log(&log.join("\n"), &mut told);
        let restores: Vec<_> = told
            .restores
            .iter()
            .map(|restore| (restore.before, restore.replayed))
            .collect();
        let wanted = [
            (Before::Nothing, 0),
            (Before::Kill, 3),
            (Before::Running, 4),
            (Before::Nothing, 7),
            (Before::Nothing, 9),
        ];
        assert_eq!((restores, told.lost), (wanted.to_vec(), 1));
    }
}
