//! A start has a context, and no more.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[on_start]
    fn begin(&mut self, _ctx: &mut Context<'_>, _now: Timestamp) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
