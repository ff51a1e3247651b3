//! A handler takes `&mut self`.

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
    fn add(_word: &str, _n: i64) {}

    #[every("1s")]
    fn publish() {}

    #[on_stop]
    fn end(self) {}

    #[on_start]
    fn begin(self: Box<Self>) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
