//! A misspelt option names the nearest one.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor(nme = "totals")]
#[derive(Default)]
struct Totals {
    #[state(changelogs = false)]
    totals: Table<String, i64>,
    #[state(Name = "other")]
    other: Table<String, i64>,
    #[state(persistant)]
    third: Table<String, i64>,
}

#[processor(name = "totals")]
impl Totals {
    #[on_message(WORDS, strat = latest)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[every("1s", streamtime)]
    fn publish(&mut self) {}

    #[every("1s", stream_time = true)]
    fn publish_again(&mut self) {}

    #[on_start(now)]
    fn begin(&mut self) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
