//! The handler takes the key for the value.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
