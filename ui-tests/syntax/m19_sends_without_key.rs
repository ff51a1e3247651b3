//! A record has a key, if only `Null`.

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
        ctx.send(&WORDS, &n)?;
        //~^
        let _ = word;
        Ok(())
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
