//! The first of two is the context or the key.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _ctx: &Context<'_>, _n: i64) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
