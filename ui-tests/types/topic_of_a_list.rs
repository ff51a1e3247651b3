//! A list has a format.

use kproc::prelude::*;

const WORDS: Topic<String, Vec<String>> = Topic::new("words");
//~^

fn main() {
    let _ = WORDS;
}
