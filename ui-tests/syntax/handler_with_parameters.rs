//! The topic says what a handler takes.

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
    fn add<T>(&mut self, _word: &str, _n: T) {}

    #[every("1s")]
    fn publish<const N: usize>(&mut self) {}

    #[every("1s")]
    fn show(&mut self, _now: Option<impl Copy>) {}

    #[on_start]
    unsafe fn begin(&mut self) {}

    #[on_stop]
    fn end(&mut self, #[cfg(all())] _ctx: &mut Context<'_>) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
