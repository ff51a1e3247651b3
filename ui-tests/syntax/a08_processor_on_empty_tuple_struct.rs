//! A struct without state has braces, too.

use kproc::prelude::*;

#[processor]
struct Totals();
//~^

fn main() {
    let _ = Totals();
}
