//! Every key and value may be null.

use kproc::prelude::*;

const WORDS: Topic<String, Option<i64>> = Topic::new("words");
//~^

fn main() {
    let _ = WORDS;
}
