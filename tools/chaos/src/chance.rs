//! Chance that can be repeated.

use std::time::Duration;

/// A sequence of numbers that a seed determines (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence of this number among those of a seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut chance =
            Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        chance.next();
        chance
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A time between these, in whole milliseconds.
    pub(crate) fn time(&mut self, least: Duration, most: Duration) -> Duration {
        let spread = most.saturating_sub(least).as_millis() as u64;
        least + Duration::from_millis(self.below(spread + 1))
    }

    /// One of these, each as often as its weight says.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let all: u64 = choices.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(all.max(1));
        for (weight, choice) in choices {
            if at < *weight {
                return *choice;
            }
            at -= weight;
        }
        choices[0].1
    }
}
