//! A topic that does not exist.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORD)]
    //~^
    fn add(&mut self, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
    let _ = WORDS;
}
