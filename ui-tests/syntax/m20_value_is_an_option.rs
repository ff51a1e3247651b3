//! A value is there or not.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, Option<i64>>,
    //~^
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
