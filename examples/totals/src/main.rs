//! Adds up numbers by word, and publishes all totals every second.
//!
//! ```sh
//! printf '{"key":"plum","value":2}\n{"key":"fig","value":1}\n{"key":"plum","value":3}\n' > words.jsonl
//! cargo run -p totals -- run --embedded --feed words=words.jsonl --dump totals=-
//! ```

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const TOTALS: Topic<String, i64> = Topic::new("totals");

/// Adds up the numbers seen for each word and publishes the totals every second.
#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }

    #[every("1s")]
    fn publish(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        for entry in self.totals.iter() {
            let (word, total) = entry?;
            ctx.send(&TOTALS, word, &total)?;
        }
        Ok(())
    }
}

kproc::main!(Totals);
