//! Numbers have the same size everywhere.

use kproc::prelude::*;

const WORDS: Topic<String, usize> = Topic::new("words");
//~^

fn main() {
    let _ = WORDS;
}
