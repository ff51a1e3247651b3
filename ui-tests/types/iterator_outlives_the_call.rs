//! An iterator holds its table.

use kproc::prelude::*;

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
    fn add(&mut self, _word: &str, _n: i64) {}

    fn open(&self) -> impl Iterator<Item = i64> + 'static {
        self.totals.iter().filter_map(|entry| Some(entry.ok()?.1))
        //~^
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
