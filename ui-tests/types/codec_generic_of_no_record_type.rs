//! A generic type is a codec if serde knows what is in it.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
#[codec(json)]
struct Order<T> {
    cents: T,
}

struct Plain;

const ORDERS: Topic<String, Order<Plain>> = Topic::new("orders");
//~^

fn main() {
    let _ = ORDERS;
}
