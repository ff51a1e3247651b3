//! Attributes of others stay where they are, also on what we take ours from.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
/// Documented.
#[derive(Debug, Default)]
#[processor]
#[cfg_attr(all(), allow(dead_code))]
#[doc(alias = "sums")]
struct Totals {
    /// Documented.
    #[cfg_attr(all(), state)]
    #[doc(hidden)]
    totals: Table<String, i64>,
    #[allow(dead_code)]
    plain: u64,
}

#[cfg_attr(all(), processor)]
#[cfg_attr(any(), missing)]
impl Totals {
    #[cfg_attr(all(), on_message(WORDS), doc = "Documented.")]
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn add(&mut self, #[cfg_attr(all(), allow(unused_variables))] word: String, _n: i64) {
        fn inner(_: &u8) {}
        inner(&1);
    }
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}
