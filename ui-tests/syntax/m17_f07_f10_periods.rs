//! Every period that is refused says how to write it.

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

    #[every("")]
    fn every0(&mut self) {}

    #[every("0s")]
    fn every1(&mut self) {}

    #[every("0ms")]
    fn every2(&mut self) {}

    #[every("-1s")]
    fn every3(&mut self) {}

    #[every("10")]
    fn every4(&mut self) {}

    #[every(" 10s ")]
    fn every5(&mut self) {}

    #[every("10 s")]
    fn every6(&mut self) {}

    #[every("1e3s")]
    fn every7(&mut self) {}

    #[every("1.5s")]
    fn every8(&mut self) {}

    #[every("10S")]
    fn every9(&mut self) {}

    #[every("5M")]
    fn every10(&mut self) {}

    #[every("5min")]
    fn every11(&mut self) {}

    #[every("5mo")]
    fn every12(&mut self) {}

    #[every("1 month")]
    fn every13(&mut self) {}

    #[every("1w")]
    fn every14(&mut self) {}

    #[every("1m30s")]
    fn every15(&mut self) {}

    #[every("500us")]
    fn every16(&mut self) {}

    #[every("18446744073709551616ms")]
    fn every17(&mut self) {}

    #[every("9223372036854775808ms")]
    fn every18(&mut self) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
