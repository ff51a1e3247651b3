//! A second name, an unknown option and a bad period: three errors in one build.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state(name = "one", name = "two")]
    //~^
    totals: Table<String, i64>,
    #[state(chagelog = false)]
    //~^
    other: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[every("0s")]
    //~^
    fn publish(&mut self) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
