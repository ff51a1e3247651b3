//! A record lives for the call only, whatever the type is called.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

type Word = &'static str;

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: Word, _n: i64) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
