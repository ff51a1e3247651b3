//! `Postcard<T>` names the format; the handler gets the `T`.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    cents: u64,
}

const ORDERS: Topic<String, Postcard<Order>> = Topic::new("orders");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(ORDERS)]
    fn ordered(&mut self, _order: Postcard<Order>) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
