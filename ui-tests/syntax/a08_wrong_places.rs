//! A mark at a place where it means nothing says where it goes.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[every("1s")]
#[derive(Default)]
struct Totals {
    #[on_message(WORDS)]
    totals: u64,
    #[state]
    #[state]
    twice: Table<String, i64>,
}

#[processor]
#[on_start]
impl Totals {
    #[on_message(WORDS)]
    const LIMIT: u64 = 3;

    #[state]
    fn kept(&mut self) {}

    #[on_message(WORDS)]
    #[every("1s")]
    fn add(&mut self, _n: i64) {}

    #[on_start]
    fn begin(&mut self) {}

    #[on_start]
    fn begin_again(&mut self) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
