//! `fn` is missing.

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
    async add(&mut self, word: &str, n: i64) {}
    //~^

    #[every("1s")]
    fn publish(&mut self) {
        let _ = &self.totals;
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
