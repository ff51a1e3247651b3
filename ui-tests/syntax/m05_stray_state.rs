//! A struct is not a store.

use kproc::prelude::*;

#[state]
//~^
struct Kept;

fn main() {
    let _ = Kept;
}
