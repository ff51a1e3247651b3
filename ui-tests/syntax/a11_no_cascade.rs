//! One bad option on a processor that is used elsewhere: one error.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor(nmae = "totals")]
//~^
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
    seen: u64,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}

    fn helper(&self) -> u64 {
        let _ = &self.totals;
        self.seen
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
    let _ = Totals::default().helper();
    Totals::default().add("", 1);
    let _ = Totals { totals: Table::default(), seen: 1 };
}
