//! A function is no processor.

use kproc::prelude::*;

#[processor]
fn totals() {}
//~^

fn main() {
    totals();
}
