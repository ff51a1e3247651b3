//! A module is no processor.

use kproc::prelude::*;

#[processor]
mod totals {
//~^
    pub const LIMIT: u64 = 3;
}

fn main() {
    let _ = totals::LIMIT;
}
