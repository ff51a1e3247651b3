//! A codec reads and writes.

use kproc::prelude::*;
use serde::Deserialize;

#[derive(Deserialize, Codec)]
#[codec(postcard)]
struct Order {
//~^
    cents: u64,
}

const ORDERS: Topic<String, Order> = Topic::new("orders");

fn main() {
    let _ = ORDERS;
}
