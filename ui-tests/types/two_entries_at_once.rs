//! An entry holds its table.

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
    fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        let mut one = self.totals.entry(word)?.or_default();
        let mut other = self.totals.entry("other")?.or_default();
        //~^
        *one += n;
        *other += n;
        let _ = ctx;
        Ok(())
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
