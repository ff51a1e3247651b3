//! A crate that has kproc through another one only.

use ui_test_facade::kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

/// Totals of words.
#[processor(crate = ui_test_facade::kproc)]
#[derive(Default)]
pub struct Totals {
    #[state]
    totals: Table<String, i64>,
}

#[processor(crate = "ui_test_facade::kproc")]
impl Totals {
    #[kproc::on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }

    #[ui_test_facade::kproc::every("1s")]
    fn publish(&mut self) {}
}
