//! A record cannot be kept in a list.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    words: Vec<&'static str>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, _n: i64) {
        self.words.push(word);
        //~^
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
