//! A mark outside of a processor is not ignored.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

struct Totals {}

impl Totals {
    #[on_schedule]
    //~^
    fn add(&mut self) {}
}

fn main() {
    let mut totals = Totals {};
    totals.add();
    let _ = WORDS;
}
