//! The context comes first.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const OTHERS: Topic<String, i64> = Topic::new("others");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64, _ctx: &mut Context<'_>) {}

    #[on_message(OTHERS)]
    fn other(&mut self, _word: &str, _n: i64, _ctx: &mut kproc::Context<'_>) {}

    #[every("1s")]
    fn swapped(&mut self, _now: Timestamp, _ctx: &mut Context<'_>) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
