//! An `async fn` returns `()` or a `Result`, too.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    async fn add(&mut self, n: i64) -> i64 { n }
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
