//! A function has no processor.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[on_message(WORDS)]
//~^
fn add(_word: &str, _n: i64) {}

fn main() {
    add("", 1);
    let _ = WORDS;
}
