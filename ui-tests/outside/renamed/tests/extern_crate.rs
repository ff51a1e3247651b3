//! One line at the root tells all processors of a crate where kproc is.

extern crate streams as kproc;

use streams::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }
}

#[test]
fn a09_a_renamed_dependency_needs_one_line() {
    assert_eq!(<Totals as streams::Processor>::name(), "totals");
}
