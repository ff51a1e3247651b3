//! All three of them: the first is the context.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[on_schedule]
    fn alarm(&mut self, _what: u64, _timer: TimerId, _now: Timestamp) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
