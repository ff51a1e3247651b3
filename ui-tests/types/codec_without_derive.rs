//! The attribute alone derives nothing.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[codec(json)]
//~^
struct Order {
    cents: u64,
}

fn main() {
    let _ = Order { cents: 1 }.cents;
}
