//! What is written invalidates what is read.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    words: Table<String, String>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        let last = self.words.get(word)?;
        self.words.put(word, "again")?;
        //~^
        let _ = (ctx, n, last);
        Ok(())
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
