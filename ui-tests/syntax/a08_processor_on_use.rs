//! An import is no struct.

use kproc::prelude::*;

#[processor]
use std::collections::BTreeMap;
//~^

fn main() {
    let _: BTreeMap<u8, u8> = BTreeMap::new();
}
