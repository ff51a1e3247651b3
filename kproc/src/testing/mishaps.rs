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
    /// One in so many decisions falls for the worse.
    one_in: u64,
    /// Of those, only the ones with these numbers.
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
    /// One in so many decisions falls for the worse, by chance alone: how others ended has no part in it.
    pub(crate) fn new(seed: u64, one_in: u64, only: Option<BTreeSet<u64>>) -> Self {
        Self {
            seed,
            one_in,
            only,
            asked: 0,
            struck: Vec::new(),
        }
    }

    /// What went wrong so far.
    pub(crate) fn struck(&self) -> &[Mishap] {
        &self.struck
    }
}

impl Mishaps {
    /// Decides whether one of `choices` happens to `whom`.
    pub(super) fn decide<C: Debug + Copy>(
        &mut self,
        now: Duration,
        whom: &dyn Debug,
        choices: &[C],
    ) -> Option<C> {
        self.asked += 1;
        let number = self.asked;
        let chance = mix(self.seed ^ number.wrapping_mul(GOLDEN));
        if !chance.is_multiple_of(self.one_in)
            || self.only.as_ref().is_some_and(|only| !only.contains(&number))
        {
            return None;
        }
        let choice = choices.get((mix(chance) % choices.len().max(1) as u64) as usize)?;
        self.struck.push(Mishap {
            number,
            at: now,
            what: format!("{whom:?}: {choice:?}"),
        });
        Some(*choice)
    }
}
