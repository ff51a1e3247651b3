//! A type without a codec.

use kproc::prelude::*;

struct Plain;

const WORDS: Topic<String, Plain> = Topic::new("words");
//~^

fn main() {
    let _ = WORDS;
}
