//! A processor cannot borrow: one error, at the lifetime.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals<'a> {
//~^
    #[state]
    totals: Table<String, i64>,
    last: &'a str,
}

#[processor]
impl<'a> Totals<'a> {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {
        self.last = "";
        let _ = self.last;
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
