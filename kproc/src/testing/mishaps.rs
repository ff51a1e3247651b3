//! What goes wrong in a simulation by chance. Decisions are numbered, so that the same simulation can be run again with
//! some of its mishaps only.
//!
//! Here is whether a decision falls for the worse, and a list of those that did. What can go wrong, and what comes of it,
//! is for whoever asks.

use std::{collections::BTreeSet, fmt::Debug, time::Duration};

use crate::clock::{GOLDEN, mix};

/// See the module.
pub(crate) struct Mishaps {
    seed: u64,
    /// About one in so many requests to the cluster goes wrong; `None`: none does.
    requests: Option<u64>,
    /// Of what goes wrong, only the ones with these numbers.
    only: Option<BTreeSet<u64>>,
    asked: u64,
    struck: Vec<Mishap>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mishap {
    /// The number of the decision.
    pub(crate) number: u64,
    pub(crate) at: Duration,
    /// What happened to whom, in words.
    pub(crate) what: String,
}

#[cfg(test)]
impl Mishaps {
    /// Whether a decision falls for the worse is up to the seed and its number alone: how others fell has no part in it.
    pub(crate) fn new(seed: u64, requests: Option<u64>, only: Option<BTreeSet<u64>>) -> Self {
        Self {
            seed,
            requests,
            only,
            asked: 0,
            struck: Vec::new(),
        }
    }

    /// From here on, no request goes wrong.
    pub(crate) fn spare_requests(&mut self) {
        self.requests = None;
    }

    /// What went wrong so far.
    pub(crate) fn struck(&self) -> &[Mishap] {
        &self.struck
    }
}

impl Mishaps {
    /// As one in how many times requests of a kind go wrong: of some kinds more often than of others, so that each kind has
    /// its simulations.
    pub(super) fn of_requests(&self, kind: u64) -> Option<u64> {
        let one_in = self.requests?;
        let most = one_in.min(5);
        Some(match mix(self.seed ^ mix(kind)) % 4 {
            0 => one_in * 4,
            1 => one_in,
            2 => (one_in / 4).max(most),
            _ => (one_in / 10).max(most),
        })
    }

    /// Decides whether one of `choices`, which have weights, happens to `whom`, as one in so many times.
    pub(super) fn decide<C: Debug + Copy>(
        &mut self,
        now: Duration,
        one_in: u64,
        whom: &dyn Debug,
        choices: &[(u64, C)],
    ) -> Option<C> {
        self.asked += 1;
        let number = self.asked;
        let chance = mix(self.seed ^ number.wrapping_mul(GOLDEN));
        if !chance.is_multiple_of(one_in) || self.only.as_ref().is_some_and(|only| !only.contains(&number)) {
            return None;
        }
        let choice = pick(mix(chance), choices)?;
        self.struck.push(Mishap {
            number,
            at: now,
            what: format!("{whom:?}: {choice:?}"),
        });
        Some(choice)
    }
}

/// One of these, by their weights.
pub(crate) fn pick<C: Copy>(chance: u64, choices: &[(u64, C)]) -> Option<C> {
    let all: u64 = choices.iter().map(|(weight, _)| weight).sum();
    let mut left = chance.checked_rem(all)?;
    let chosen = choices.iter().find(|(weight, _)| {
        let chosen = left < *weight;
        left = left.saturating_sub(*weight);
        chosen
    });
    chosen.map(|(_, choice)| *choice)
}

#[test]
fn choices_come_by_their_weights() {
    let choices = [(1, 'a'), (0, 'b'), (3, 'c')];
    let picked: String = (0..8).filter_map(|chance| pick(chance, &choices)).collect();
    assert_eq!(picked, "acccaccc");
    assert_eq!(pick::<char>(1, &[]), None);
}
