//! A method handles one topic.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const OTHERS: Topic<String, i64> = Topic::new("others");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    #[on_message(OTHERS)]
    //~^
    fn add(&mut self, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
