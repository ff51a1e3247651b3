//! A method has one period.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[every("1s", "5s")]
    //~^
    fn publish(&mut self) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
