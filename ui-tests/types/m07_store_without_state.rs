//! A store that nobody opens.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    pending: Table<String, i64>,
    //~^
    plain: Option<u64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {
        let _ = (&self.pending, self.plain);
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
