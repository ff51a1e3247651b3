//! A record cannot be kept in a field.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    last: Option<&'static str>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, _n: i64) {
        self.last = Some(word);
        //~^
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
