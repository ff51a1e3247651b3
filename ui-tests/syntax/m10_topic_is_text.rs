//! A topic is a typed constant.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
}

#[processor(sends("totals"))]
impl Totals {
    #[on_message("words.raw")]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[on_message(7)]
    fn seven(&mut self, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
