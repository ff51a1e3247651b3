//! `Option` of something that the topic does not hold.

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
    fn add(&mut self, _ctx: &mut Context<'_>, _word: Option<&[u8]>, _n: Option<u64>) {}
    //~^
    //~^^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
