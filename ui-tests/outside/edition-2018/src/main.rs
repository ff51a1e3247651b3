//! A program of an older edition, where `gen` is a name as any other, and `async` may be one.

#![deny(warnings)]
#![allow(non_camel_case_types)]

use kproc::{prelude::*, Codec};
use serde::{Deserialize, Serialize};

/// What is ordered.
#[derive(Serialize, Deserialize, Codec)]
#[codec(json)]
struct Order<'a> {
    sku: &'a str,
    r#async: u64,
}

/// A generation.
#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct gen<T> {
    gen: T,
}

const ORDERS: Topic<String, Order<'_>> = Topic::new("orders");
const GENS: Topic<String, gen<u64>> = Topic::new("gens");

/// Counts.
#[processor]
#[derive(Default)]
struct Counter {
    #[state]
    gen: Table<String, u64>,
    r#async: u64,
}

#[processor(sends(GENS))]
impl Counter {
    #[on_message(ORDERS)]
    async fn gen(&mut self, ctx: &mut Context<'_>, order: Order<'_>) -> Result<()> {
        self.r#async += order.r#async;
        Ok(ctx.send(&GENS, order.sku, &gen { gen: 1 })?)
    }

    #[on_message(GENS)]
    fn r#await(&mut self, name: &str, gen: gen<u64>) -> Result<()> {
        *self.gen.entry(name)?.or_default() += gen.gen;
        Ok(())
    }

    #[every("1s")]
    async fn r#async(&mut self, _ctx: &mut Context<'_>, _now: Timestamp) {}

    #[on_schedule]
    fn r#try(&mut self, _timer: TimerId) {}

    #[on_start]
    fn r#dyn(&mut self) {}

    #[on_stop]
    fn end(&mut self) {}
}

ui_test_facade::counter!(Words from "words" of u64);

kproc::main!(Counter, Words);
