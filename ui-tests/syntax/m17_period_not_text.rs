//! A period is in quotes.

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
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[every(10s)]
    fn a(&mut self) {}

    #[every(10)]
    fn b(&mut self) {}

    #[every]
    fn c(&mut self) {}

    #[every()]
    fn d(&mut self) {}

    #[every(stream_time)]
    fn e(&mut self) {}

    #[every = "10s"]
    fn f(&mut self) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
