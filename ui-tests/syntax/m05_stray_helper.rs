//! A mark outside of a processor is not ignored.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

struct Totals;

impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[kproc::every("1s")]
    fn publish(&mut self) {}

    #[on_start]
    #[on_stop]
    #[on_schedule]
    fn frame(&mut self) {}
}

#[state]
struct Kept;

fn main() {
    let mut totals = Totals;
    totals.add("", 1);
    totals.publish();
    totals.frame();
    let _ = Kept;
}
