//! A wrong codec is no second error where it is used.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
struct Order<T> {
//~^
    cents: T,
}

const ORDERS: Topic<String, Order<u64>> = Topic::new("orders");

fn main() {
    let _ = ORDERS;
}
