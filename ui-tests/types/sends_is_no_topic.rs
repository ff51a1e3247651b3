//! What is sent to is a topic.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const LIMIT: u64 = 3;

#[processor]
#[derive(Default)]
struct Totals {}

#[processor(sends(LIMIT))]
//~^
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
