//! An alias is no struct.

use kproc::prelude::*;

#[processor]
type Totals = u64;
//~^

fn main() {
    let _: Totals = 3;
}
