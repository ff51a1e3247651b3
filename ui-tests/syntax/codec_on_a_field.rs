//! A record has one format as a whole.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
#[codec(json)]
struct Order {
    #[codec(json)]
    //~^
    cents: u64,
}

const ORDERS: Topic<String, Order> = Topic::new("orders");

fn main() {
    let _ = ORDERS;
}
