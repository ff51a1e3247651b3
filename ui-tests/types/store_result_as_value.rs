//! A table is on a disk: reading may fail.

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
        let total: i64 = self.totals.get(word).unwrap_or_default();
        //~^
        let _ = (ctx, n, total);
        Ok(())
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
