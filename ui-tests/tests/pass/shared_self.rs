//! Who only reads may say so.

#![deny(warnings)]

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
    fn look(&self, ctx: &mut Context<'_>, word: &str, _n: i64) -> Result<()> {
        if let Some(total) = self.totals.get(word)? {
            ctx.send(&WORDS, word, &total)?;
        }
        Ok(())
    }
    #[every("1s")]
    async fn report(&self) {}
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}
