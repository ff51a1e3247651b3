//! A test sends what the topic holds.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    let mut driver = kproc::testing::TestDriver::new::<Totals>().unwrap();
    driver.send(&WORDS, "a", "b").unwrap();
    //~^
}
