//! An option whose value is one of a few words.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const OTHERS: Topic<String, i64> = Topic::new("others");
const MORE: Topic<String, i64> = Topic::new("more");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS, start = "latest")]
    fn quoted(&mut self, _n: i64) {}

    #[on_message(OTHERS, start = newest)]
    fn unknown(&mut self, _n: i64) {}

    #[on_message(MORE, start = earlyest)]
    fn misspelt(&mut self, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
