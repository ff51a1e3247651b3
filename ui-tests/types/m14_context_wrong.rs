//! The context is `&mut Context<'_>`.

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
    fn add(&mut self, _ctx: &Context<'_>, _word: &str, _n: i64) {}
    //~^

    #[every("1s")]
    fn publish(&mut self, _ctx: &Context<'_>) {}
    //~^

    #[every("1s")]
    fn no_timer(&mut self, _timer: TimerId) {}
    //~^

    #[on_start]
    fn begin(&mut self, _ctx: Context<'_>) {}
    //~^

    #[on_schedule]
    fn alarm(&mut self, _ctx: &mut Context<'_>, _timer: u64, _now: i64) {}
    //~^
    //~^^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
