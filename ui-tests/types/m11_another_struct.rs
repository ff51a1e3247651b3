//! The handler takes another type of the program.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Order<'a> {
    sku: &'a str,
}

const ORDERS: Topic<String, Order<'_>> = Topic::new("orders");

#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Payment {
    cents: u64,
}

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(ORDERS)]
    fn ordered(&mut self, _payment: Payment) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
