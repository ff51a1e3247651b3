//! A processor handles messages.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
//~^
    #[every("1s")]
    fn publish(&mut self) {}

    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    Totals::default().add("", 1);
    let _ = kproc::App::new("app").processor::<Totals>();
    let _ = WORDS;
}
