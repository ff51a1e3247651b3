//! How is it written?

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
struct Order {
//~^
    cents: u64,
}

const ORDERS: Topic<String, Order> = Topic::new("orders");

fn main() {
    let _ = ORDERS;
}
