//! A period is a whole number without an exponent.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[every("1e3s")]
    //~^
    fn publish(&mut self) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
