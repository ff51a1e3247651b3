//! Two handlers of one topic, which the macro cannot see: paths are not what they lead to. It is found at the start.

#![deny(warnings)]

use kproc::{prelude::*, testing::TestDriver};

mod topics {
    pub(super) const WORDS: kproc::Topic<String, i64> = kproc::Topic::new("words");
}
mod others {
    pub(super) use super::topics::WORDS as NOTES;
}

#[processor]
#[derive(Debug, Default)]
struct Totals {
    sum: i64,
}

#[processor]
impl Totals {
    #[on_message(topics::WORDS)]
    fn add(&mut self, n: i64) {
        self.sum += n;
    }

    #[on_message(others::NOTES)]
    fn add_again(&mut self, n: i64) {
        self.sum += n;
    }
}

#[test]
fn is_refused_when_it_starts() {
    let error = TestDriver::new::<Totals>().expect_err("two handlers").to_string();
    assert!(
        error.contains("processor `totals` reads topic `words` twice"),
        "{error}"
    );
}
