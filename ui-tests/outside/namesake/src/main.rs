//! A program with a dependency that is called `core`.

#![deny(warnings)]

use kproc::{Codec, prelude::*};
use serde::{Deserialize, Serialize};

/// What is ordered.
#[derive(Serialize, Deserialize, Codec)]
#[codec(json)]
struct Order<'a> {
    sku: &'a str,
}

/// A payment.
#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Payment {
    cents: u64,
}

const ORDERS: Topic<String, Order<'_>> = Topic::new("orders");
const PAYMENTS: Topic<String, Payment> = Topic::new("payments");

/// Counts.
#[processor]
#[derive(Default)]
struct Counter {
    #[state]
    paid: Table<String, u64>,
    plain: u64,
}

#[processor(sends(PAYMENTS))]
impl Counter {
    #[on_message(ORDERS)]
    fn ordered(&mut self, ctx: &mut Context<'_>, order: Order<'_>) -> Result<()> {
        self.plain += 1;
        Ok(ctx.send(&PAYMENTS, order.sku, &Payment { cents: 1 })?)
    }

    #[on_message(PAYMENTS)]
    async fn paid(&mut self, name: &str, payment: Payment) -> Result<()> {
        *self.paid.entry(name)?.or_default() += payment.cents;
        Ok(())
    }

    #[every("1s")]
    fn publish(&mut self, _ctx: &mut Context<'_>, _now: Timestamp) {}

    #[on_schedule]
    fn fired(&mut self, _timer: TimerId) {}

    #[on_start]
    fn begin(&mut self) {}

    #[on_stop]
    fn end(&mut self) {}
}

kproc::main!(Counter);
