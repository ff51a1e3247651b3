//! Which field was written?

use kproc::prelude::*;

#[derive(Clone, Copy, Codec)]
#[codec(postcard)]
union Order {
//~^
    cents: u64,
    rate: f64,
}

const ORDERS: Topic<String, Order> = Topic::new("orders");

fn main() {
    let _ = ORDERS;
}
