//! The impl block lacks its half.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

impl Totals {
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
    //~^
    Totals::default().add("", 1);
    let _ = WORDS;
}
