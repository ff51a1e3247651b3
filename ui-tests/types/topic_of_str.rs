//! A topic holds the type that owns.

use kproc::prelude::*;

const WORDS: Topic<str, i64> = Topic::new("words");
//~^

fn main() {
    let _ = WORDS;
}
