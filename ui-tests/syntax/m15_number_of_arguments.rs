//! How many arguments each kind of handler takes.

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
    fn nothing(&mut self) {}

    #[every("1s")]
    fn publish(&mut self, _ctx: &mut Context<'_>, _now: Timestamp, _more: u8) {}

    #[on_start]
    fn begin(&mut self, _ctx: &mut Context<'_>, _now: Timestamp) {}

    #[on_schedule]
    fn alarm(&mut self, _ctx: &mut Context<'_>, _timer: TimerId, _now: Timestamp, _more: u8) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
