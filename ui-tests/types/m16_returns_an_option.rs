//! A handler returns `()` or a `Result`.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) -> Option<()> { None }
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
