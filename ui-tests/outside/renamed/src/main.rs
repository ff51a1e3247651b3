//! A program that calls kproc `streams`, and that is strict with itself: no warning may come from generated code.

#![deny(warnings, missing_docs, clippy::all, clippy::pedantic)]
#![forbid(unsafe_code)]

use streams::{Codec, Context, Result, Table, TimerId, Timestamp, Topic, processor};

/// What is ordered.
#[derive(serde::Serialize, serde::Deserialize, Codec, Clone, Debug)]
#[codec(json, crate = streams)]
pub struct Order<'a> {
    /// What.
    pub sku: &'a str,
    /// How many.
    pub count: u64,
}

/// Orders by customer.
pub const ORDERS: Topic<String, Order> = Topic::new("orders");
/// How many of each.
pub const COUNTS: Topic<String, u64> = Topic::new("counts");

/// Counts what is ordered.
#[processor(crate = streams, name = "orders")]
#[derive(Default)]
pub struct Counter {
    #[state(changelog = false)]
    counts: Table<String, u64>,
    /// Records seen.
    pub seen: u64,
}

#[processor(crate = streams, sends(COUNTS))]
impl Counter {
    #[on_message(ORDERS)]
    async fn count(&mut self, ctx: &mut Context<'_>, order: Order<'_>) -> Result<()> {
        self.seen += 1;
        let mut count = self.counts.entry(order.sku)?.or_default();
        *count += order.count;
        ctx.send(&COUNTS, order.sku, &*count)?;
        Ok(())
    }

    #[streams::every("1m", stream_time)]
    fn forget(&mut self, now: Timestamp) {
        self.seen = u64::from(now == Timestamp::EPOCH);
    }

    #[every("1d")]
    async fn never(&mut self) {}

    #[on_start]
    fn begin(&mut self) {}

    #[on_stop]
    async fn end(&mut self, _ctx: &mut Context<'_>) {}

    #[on_schedule]
    fn fired(&mut self, _timer: TimerId) {}
}

streams::main!(Counter);
