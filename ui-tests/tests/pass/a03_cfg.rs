//! What is switched off is switched off everywhere; numbers do not shift.

#![deny(warnings)]

use kproc::{TimerClock, prelude::*};
use std::time::Duration;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
    #[cfg(any())]
    #[state]
    extra: Missing<String, i64>,
    #[cfg_attr(all(), cfg(any()), state)]
    other: Missing<String, i64>,
    #[cfg_attr(all(), state(name = "third"))]
    third: Table<String, i64>,
    #[cfg(any())]
    plain: Missing,
}

#[processor]
impl Totals {
    #[cfg(any())]
    #[on_message(MISSING)]
    fn extra(&mut self, _n: Missing) {}

    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {
        let _ = (&self.totals, &self.third);
    }

    #[cfg_attr(any(), every("1s"))]
    #[allow(dead_code)]
    fn never(&mut self, _missing: u8) {}

    #[cfg_attr(all(), every("1s"), inline)]
    fn publish(&mut self) {}

    #[cfg(test)]
    #[on_start]
    fn begin(&mut self) {}

    #[on_start]
    #[cfg(not(test))]
    fn begin(&mut self) {}

    #[cfg_attr(all(), cfg(any()))]
    #[on_stop]
    fn end(&mut self, _missing: Missing) {}
}

/// Input 0 and timer 0 are switched off: those that are left keep their numbers.
#[test]
fn numbers_do_not_shift() {
    let declared = crate::Declared::by(&mut Totals::default());
    assert_eq!(declared.inputs, [1]);
    assert_eq!(declared.timers, [(1, Duration::from_secs(1), TimerClock::Wall)]);
    assert_eq!(
        declared.stores,
        [("totals".to_owned(), true), ("third".to_owned(), true)]
    );
}
