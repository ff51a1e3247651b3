//! A key is bytes that sort.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<usize, i64>,
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
