//! The impl block of a processor is its own, not a trait's.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
}

trait Adds {
    fn add(&mut self, word: &str, n: i64);
}

#[processor]
impl Adds for Totals {
//~^
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    Totals::default().add("", 1);
}
