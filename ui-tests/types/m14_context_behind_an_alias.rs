//! Another name of the context is still the context, and no more of it than what the name stands for.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

type Ctx<'a> = kproc::Context<'a>;

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _ctx: &Ctx<'_>, _word: &str, _n: i64) {}
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
