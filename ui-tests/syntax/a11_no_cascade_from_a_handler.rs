//! A handler that is refused is still a method, and no part of it looks unused.

#![deny(warnings)]
use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS, start = later)]
    //~^
    fn add(&mut self, word: &str, n: i64) {
        let _ = (&self.totals, word, n);
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
