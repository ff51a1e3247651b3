//! What a run has come to, as a table.

use std::{fmt::Write, time::Duration};

use crate::{
    model::Violations,
    options::Options,
    restores::{Before, Restore, Told},
    storm::Deeds,
    transactions::Transactions,
    verify::Compared,
};

/// See the module.
pub(crate) struct Report {
    pub(crate) options: Options,
    pub(crate) took: Duration,
    pub(crate) deeds: Deeds,
    pub(crate) transactions: Result<Transactions, String>,
    pub(crate) records: u64,
    pub(crate) outputs: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) longest_wait: Duration,
    pub(crate) ended_early: u64,
    pub(crate) compared: Compared,
    pub(crate) restored: Compared,
    pub(crate) told: Told,
    pub(crate) violations: Violations,
}

impl Report {
    pub(crate) fn is_good(&self) -> bool {
        self.violations.number == 0
    }

    pub(crate) fn text(&self) -> String {
        let Self {
            options, deeds, told, ..
        } = self;
        let [short, session, transaction] = deeds.freezes;
        let processing = options.processing.name().replace('_', " ");
        let transactions = match &self.transactions {
            Ok(Transactions {
                committed,
                aborted,
                ids,
            }) => {
                format!("{committed} committed, {aborted} aborted, by {ids} ids")
            }
            Err(error) => format!("not known: {error}"),
        };
        let rows = [
            (
                "seed",
                format!("{} ({processing}, {} processes)", options.seed, options.processes),
            ),
            ("time", format!("{} s", self.took.as_secs())),
            ("kills", deeds.kills.to_string()),
            (
                "pauses",
                format!(
                    "{} ({short} shorter than a session, {session} longer, {transaction} longer than a transaction may take)",
                    short + session + transaction
                ),
            ),
            ("clean stops", deeds.stops.to_string()),
            ("wiped directories", deeds.wiped.to_string()),
            (
                "broker",
                format!(
                    "{} killed, {} restarted, {} frozen",
                    deeds.broker_kills, deeds.broker_restarts, deeds.broker_freezes
                ),
            ),
            ("transactions", transactions),
            ("records in", self.records.to_string()),
            ("outputs", self.outputs.to_string()),
            ("lost", self.lost.to_string()),
            ("duplicated", self.duplicated.to_string()),
            (
                "longest wait for an output",
                format!("{:.1} s", self.longest_wait.as_secs_f64()),
            ),
            (
                "states compared",
                format!(
                    "{}, of {} entries in all",
                    self.compared.states, self.compared.entries
                ),
            ),
            (
                "restored from nothing",
                format!(
                    "{}, of {} entries in all",
                    self.restored.states, self.restored.entries
                ),
            ),
            (
                "fall-backs, lost partitions",
                format!("{}, {}", told.fallen_back, told.lost),
            ),
            ("ends by themselves", deeds.ends.len().to_string()),
            (
                "ends that came before what was read",
                self.ended_early.to_string(),
            ),
            ("violations", self.violations.number.to_string()),
        ];
        let mut text = String::new();
        for (name, value) in rows {
            let _ = writeln!(text, "{name:<36} {value}");
        }
        let _ = writeln!(
            text,
            "\n{:<19}{:>9}{:>12}{:>12}{:>14}",
            "restores after", "tasks", "replayed", "at most", "in the store"
        );
        for before in Before::ALL {
            let of_kind = || told.restores.iter().filter(|restore| restore.before == before);
            let sum = |of: fn(&Restore) -> u64| of_kind().map(of).sum::<u64>();
            let most = of_kind().map(|restore| restore.replayed).max().unwrap_or(0);
            let _ = writeln!(
                text,
                "{before:<19}{:>9}{:>12}{most:>12}{:>14}",
                of_kind().count(),
                sum(|restore| restore.replayed),
                sum(|restore| restore.entries),
            );
        }
        for end in &deeds.ends {
            let _ = writeln!(text, "\nended by itself: {end}");
        }
        for violation in &self.violations.first {
            let _ = writeln!(text, "\nVIOLATION: {violation}");
        }
        text
    }
}
