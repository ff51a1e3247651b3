//! Stores are known by the names of fields.

use kproc::prelude::*;

#[processor]
struct Totals(u64);
//~^

fn main() {
    let _ = Totals(3).0;
}
