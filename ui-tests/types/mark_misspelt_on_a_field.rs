//! A mark that does not exist.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[sate]
    //~^
    totals: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {
        let _ = &self.totals;
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
