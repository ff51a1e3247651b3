//! The processor stays where it is.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    #[on_stop]
    fn end(mut self) {
        //~^
        let _ = &mut self;
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
