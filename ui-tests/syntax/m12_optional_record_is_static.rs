//! A record lives for the call only, if it is there.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: Option<&'static str>, _n: i64) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
