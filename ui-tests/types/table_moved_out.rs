//! A table stays with its processor.

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
    fn add(&mut self, _n: i64) {
        let totals = self.totals;
        //~^
        drop(totals);
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
