//! A mark outside of a processor is not ignored, whatever its path.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

struct Totals {}

impl Totals {
    #[kproc::every("1s")]
    //~^
    fn add(&mut self) {}
}

fn main() {
    let mut totals = Totals {};
    totals.add();
    let _ = WORDS;
}
