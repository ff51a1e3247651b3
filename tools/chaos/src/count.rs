//! The application under attack: it counts, in a way that tells whether each record counted once and in its turn.

use std::{ffi::OsString, process::ExitCode};

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

/// The application's id: the name of its group, and what its topics begin with.
pub(crate) const APP: &str = "chaos";
/// What comes in: for each key, numbers that come once in all of the topic.
pub(crate) const NUMBERS: Topic<String, u64> = Topic::new("chaos-numbers");
/// What goes out: each number with what its key has come to.
pub(crate) const TALLIES: Topic<String, Counted> = Topic::new("chaos-tallies");
/// The changelog of what each key has come to.
pub(crate) const CHANGELOG: &str = "chaos-count-tallies-changelog";
/// The name of the store.
pub(crate) const STORE: &str = "tallies";

/// What a key has come to. Two that are equal were made of the same numbers in the same order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Codec)]
#[codec(json)]
pub(crate) struct Tally {
    /// How many numbers there were.
    pub(crate) count: u64,
    /// A digest of them, in order.
    pub(crate) chain: u64,
}

impl Tally {
    /// With one more number.
    pub(crate) fn with(self, number: u64) -> Self {
        let mixed = (self.chain ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            count: self.count + 1,
            chain: mixed ^ (mixed >> 29),
        }
    }
}

/// What is sent for each number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Codec)]
#[codec(json)]
pub(crate) struct Counted {
    /// The number.
    pub(crate) number: u64,
    /// What its key has come to with it.
    pub(crate) tally: Tally,
}

/// Counts.
#[processor]
#[derive(Default)]
struct Count {
    #[state]
    tallies: Table<String, Tally>,
}

#[processor(sends(TALLIES))]
impl Count {
    #[on_message(NUMBERS)]
    fn count(&mut self, ctx: &mut Context<'_>, key: &str, number: u64) -> Result<()> {
        let mut tally = self.tallies.entry(key)?.or_default();
        *tally = tally.with(number);
        let counted = Counted {
            number,
            tally: *tally,
        };
        ctx.send(&TALLIES, key, &counted)?;
        Ok(())
    }
}

/// The whole program: what any user's `main` would be.
pub(crate) fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    App::new(APP).processor::<Count>().main_with(arguments)
}
