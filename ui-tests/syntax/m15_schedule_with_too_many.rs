//! A timer has a name and a time.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[on_schedule]
    fn alarm(&mut self, _ctx: &mut Context<'_>, _timer: TimerId, _now: Timestamp, _more: u8) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
