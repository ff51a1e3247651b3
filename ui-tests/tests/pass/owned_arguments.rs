//! What borrows may be taken as one's own.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const BYTES: Topic<Vec<u8>, [u8; 4]> = Topic::new("bytes");
const PAIRS: Topic<(String, u32), (i64, bool)> = Topic::new("pairs");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn text(&mut self, _word: String, _n: i64) {}
    #[on_message(BYTES)]
    fn bytes(&mut self, _key: Vec<u8>, _value: &[u8; 4]) {}
    #[on_message(PAIRS)]
    fn pairs(&mut self, (_word, _n): (&str, u32), (_i, _flag): (i64, bool)) {}
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}
