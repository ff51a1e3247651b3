//! A processor is a struct; whatever uses the wrong item fails no further.

use kproc::prelude::*;

#[processor]
#[derive(Default)]
enum Totals {
//~^
    #[default]
    Empty,
}

fn main() {
    let _ = Totals::default();
}
