//! Numbers that look like chance, and come again with their seed.

use kproc::Clock;

use crate::kit::Kafka;

/// A sequence of numbers: that of `KPROC_HANDOVER_SEED`, or a new one. Says which.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(kafka: &Kafka) -> Self {
        let seed = std::env::var("KPROC_HANDOVER_SEED").ok();
        let seed = seed.map_or_else(
            || kafka.clock.wall().as_millis() as u64,
            |text| text.parse().unwrap(),
        );
        println!("KPROC_HANDOVER_SEED={seed}");
        Self(seed)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
