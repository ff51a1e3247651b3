//! `#[derive(Codec)]` without serde's own derives.

use kproc::prelude::*;

#[derive(Codec)]
#[codec(json)]
struct Order {
//~^
//~^^
    cents: u64,
}

fn main() {
    let _ = Order { cents: 1 }.cents;
}
