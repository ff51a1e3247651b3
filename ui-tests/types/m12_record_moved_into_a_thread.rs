//! A record lives for the call, a thread longer.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, _n: i64) {
        std::thread::spawn(move || println!("{word}"));
        //~^
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
