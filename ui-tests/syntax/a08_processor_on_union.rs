//! A union is no processor.

use kproc::prelude::*;

#[processor]
#[derive(Clone, Copy)]
union Either {
//~^
    _a: u8,
    _b: i8,
}

fn main() {
    let _ = Either { _a: 1 };
}
