//! A mark outside of a processor is not ignored.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

struct Totals {}

impl Totals {
    #[on_message(WORDS)]
    //~^
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    let mut totals = Totals {};
    totals.add("", 1);
    let _ = WORDS;
}
