//! `#[derive(Codec)]` without serde's own derives.

use kproc::prelude::*;

#[derive(Codec)]
#[codec(json)]
struct Order {
//~^
    cents: u64,
}

const ORDERS: Topic<String, Order> = Topic::new("orders");

fn main() {
    let _ = ORDERS;
}
