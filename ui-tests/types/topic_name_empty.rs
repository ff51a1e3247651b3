//! A topic has a name.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("");
//~^

fn main() {
    let _ = WORDS;
}
