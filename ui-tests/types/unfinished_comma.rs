//! A comma that is missing between two fields.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    latest: Table<String, i64>
    //~^
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        self.latest.put(word, &n)?;
        Ok(self.totals.put(word, &n)?)
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
