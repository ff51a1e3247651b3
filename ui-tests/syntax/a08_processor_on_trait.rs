//! A trait is no processor.

use kproc::prelude::*;

#[processor]
trait Adds {}
//~^

struct Totals;

impl Adds for Totals {}

fn main() {
    let _ = Totals;
}
