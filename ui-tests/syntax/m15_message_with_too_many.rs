//! A message has a key and a value.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _ctx: &mut Context<'_>, _word: &str, _n: i64, _at: Timestamp) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
