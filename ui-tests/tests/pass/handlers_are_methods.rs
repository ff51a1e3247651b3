//! A handler can be called and tested like any method.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
#[processor]
#[derive(Default)]
struct Totals {
    sum: i64,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, n: i64) {
        self.sum += n;
    }
}

#[test]
fn builds() {
    let mut totals = Totals { sum: 1 };
    totals.add("a", 2);
    assert_eq!(totals.sum, 3);
}
