//! How is it written?

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
#[codec()]
struct Order {
//~^
    cents: u64,
}

const ORDERS: Topic<String, Order> = Topic::new("orders");

fn main() {
    let _ = ORDERS;
}
