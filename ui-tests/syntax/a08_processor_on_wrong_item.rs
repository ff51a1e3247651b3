//! `#[processor]` on everything that is none.

use kproc::prelude::*;

#[processor]
trait Adds {}

#[processor]
pub(crate) async fn add(_n: i64) {}

#[processor]
#[derive(Clone, Copy)]
union Either {
    _a: u8,
    _b: i8,
}

#[processor]
struct Tuple(u64);

#[processor]
struct Unit;

#[processor]
mod inner {}

#[processor]
const LIMIT: u64 = 3;

impl Adds for Tuple {}

fn main() {
    let _ = (add(1), Either { _a: 1 }, Tuple(LIMIT).0, Unit);
}
