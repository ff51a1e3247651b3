//! An item is given, not lent.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Order<'a> {
    sku: &'a str,
}

const ORDERS: Topic<String, Order<'_>> = Topic::new("orders");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(ORDERS)]
    fn ordered(&mut self, _order: &Order<'_>) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
