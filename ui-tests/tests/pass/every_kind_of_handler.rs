//! All marks with all that they may take.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _ctx: &mut Context<'_>, _word: &str, _n: i64) {}
    #[every("1s")]
    fn nothing(&mut self) {}
    #[every("2m")]
    fn time(&mut self, _now: Timestamp) {}
    #[every("3h", stream_time)]
    fn context(&mut self, _ctx: &mut Context<'_>) {}
    #[every("4d", stream_time)]
    fn both(&mut self, _ctx: &mut Context<'_>, _now: Timestamp) {}
    #[on_schedule]
    fn fired(&mut self, _ctx: &mut Context<'_>, _timer: TimerId, _now: Timestamp) {}
    #[on_start]
    fn begin(&mut self, _ctx: &mut Context<'_>) {}
    #[on_stop()]
    fn end(&mut self, _ctx: &mut Context<'_>) {}
}

#[test]
fn builds() {
    let declared = crate::Declared::by(&mut Totals::default());
    assert_eq!(declared.inputs, [0]);
    assert_eq!(declared.timers.len(), 4);
    assert!(declared.scheduled);
}
