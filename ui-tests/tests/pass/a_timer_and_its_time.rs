//! A timer's handler takes what it wants, as its types say.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

/// Takes the timer before its time.
#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {}
    #[on_schedule]
    fn fired(&mut self, _timer: TimerId, _now: Timestamp) {}
}

/// Takes the time before its timer.
#[processor]
#[derive(Default)]
struct Other {}

#[processor]
impl Other {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {}
    #[on_schedule]
    fn fired(&mut self, _ctx: &mut Context<'_>, _now: Timestamp, _timer: TimerId) {}
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>().processor::<Other>();
}
