//! `?` needs a `Result`.

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
    fn add(&mut self, word: &str, n: i64) {
        self.totals.put(word, &n)?;
        //~^
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
