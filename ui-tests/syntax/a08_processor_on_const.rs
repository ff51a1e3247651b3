//! A constant is no processor.

use kproc::prelude::*;

#[processor]
const LIMIT: u64 = 3;
//~^

fn main() {
    let _ = LIMIT;
}
