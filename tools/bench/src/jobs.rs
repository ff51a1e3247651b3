//! What is measured: a job without state, and one with.

use std::sync::atomic::{AtomicU64, Ordering};

use kproc::prelude::*;

/// What comes in.
pub(crate) const INPUT: Topic<String, Vec<u8>> = Topic::new("input");
/// What [`Map`] sends.
pub(crate) const MAPPED: Topic<String, Vec<u8>> = Topic::new("mapped");
/// What [`Count`] sends.
pub(crate) const COUNTS: Topic<String, u64> = Topic::new("counted");

/// How many records were handled. Each partition has one of its own, on a cache line of its own.
static SEEN: [Seen; 64] = [const { Seen(AtomicU64::new(0)) }; 64];

#[repr(align(128))]
struct Seen(AtomicU64);

fn seen_one(ctx: &Context<'_>) {
    let partition = ctx.task().partition.get() as usize;
    SEEN[partition % SEEN.len()].0.fetch_add(1, Ordering::Relaxed);
}

/// How many records were handled so far.
pub(crate) fn seen() -> u64 {
    SEEN.iter().map(|seen| seen.0.load(Ordering::Relaxed)).sum()
}

/// Sends each record on, with its first byte changed.
#[processor]
#[derive(Default)]
pub(crate) struct Map {
    value: Vec<u8>,
}

#[processor]
impl Map {
    #[on_message(INPUT)]
    fn map(&mut self, ctx: &mut Context<'_>, key: &str, value: &[u8]) -> Result<()> {
        self.value.clear();
        self.value.extend_from_slice(value);
        if let Some(first) = self.value.first_mut() {
            *first ^= 1;
        }
        ctx.send(&MAPPED, key, &self.value)?;
        seen_one(ctx);
        Ok(())
    }
}

/// Counts keys, and sends every count.
#[processor]
#[derive(Default)]
pub(crate) struct Count {
    #[state]
    counts: Table<String, u64>,
}

#[processor]
impl Count {
    #[on_message(INPUT)]
    fn count(&mut self, ctx: &mut Context<'_>, key: &str, _value: &[u8]) -> Result<()> {
        let mut count = self.counts.entry(key)?.or_default();
        *count += 1;
        ctx.send(&COUNTS, key, &*count)?;
        seen_one(ctx);
        Ok(())
    }
}
