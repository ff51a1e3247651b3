//! All handlers of a processor are in one impl block.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const LINES: Topic<String, String> = Topic::new("lines");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

#[processor]
impl Totals {
//~^
    #[on_message(LINES)]
    fn line(&mut self, _line: &str) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
