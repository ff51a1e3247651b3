//! Traits that give every type methods, by the names that generated code calls, do not get in its way.

#![deny(warnings)]
#![allow(dead_code)]

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

const WORDS: Topic<String, i64> = Topic::new("words");
const ORDERS: Topic<String, Order<'_>> = Topic::new("orders");

/// Takes everything by value, which comes before what is borrowed.
trait Everything: Sized {
    fn input(self, _: usize, _: u8, _: u8) {}
    fn output(self, _: u8) {}
    fn store(self, _: u8, _: u8, _: u8) {}
    fn stores(self, _: u8) {}
    fn add_timer(self, _: u8) {}
    fn handles_scheduled(self) {}
    fn typed(self) {}
    fn outcome(self) {}
    fn context(self) {}
    fn first(self) {}
    fn argument(self) {}
    fn key(self) {}
    fn value(self) {}
    fn decode(self) {}
    fn encode(self) {}
    fn declare(self) {}
    fn name() {}
}
impl<T> Everything for T {}

#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Order<'a> {
    sku: &'a str,
}

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
    plain: u64,
}

#[processor(sends(WORDS))]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        Ok(self.totals.put(word, &n)?)
    }
    #[on_message(ORDERS)]
    fn order(&mut self, _sku: &str, order: Order<'_>) {
        let _ = (self.plain, order.sku);
    }
    #[every("1s")]
    fn tick(&mut self, _ctx: &mut Context<'_>, _now: Timestamp) {}
    #[on_schedule]
    fn fired(&mut self, _timer: TimerId) {}
    #[on_start]
    fn start(&mut self, _ctx: &mut Context<'_>) {}
    #[on_stop]
    fn stop(&mut self) {}
}

/// A handler, a field and a method by the names of what is generated.
#[processor]
#[derive(Default)]
struct Processor {
    #[state]
    stores: Table<String, i64>,
    name: u64,
    process: u64,
}

#[processor]
impl Processor {
    #[on_message(WORDS)]
    fn process(&mut self, _n: i64) {
        self.name();
    }
    #[every("1s")]
    fn declare(&mut self) {}
    #[every("1s")]
    fn punctuate(&mut self) {}
    #[every("1s")]
    fn stores(&mut self) {}
    fn name(&self) {
        let _ = (&self.stores, self.name, self.process);
    }
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>().processor::<Processor>();
    let declared = crate::Declared::by(&mut Totals::default());
    assert_eq!(
        (declared.inputs.len(), declared.outputs, declared.timers.len()),
        (2, 1, 1)
    );
    assert_eq!(declared.stores, [("totals".to_owned(), true)]);
    assert_eq!(<Processor as kproc::Processor>::name(), "processor");
}
