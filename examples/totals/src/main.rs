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

#[processor(sends(TOTALS))]
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kproc::testing::TestDriver;

    use super::*;

    #[test]
    fn totals_are_published_every_second() -> Result<()> {
        let mut driver = TestDriver::new::<Totals>()?;
        driver.send(&WORDS, "plum", &2)?;
        driver.send(&WORDS, "fig", &1)?;
        driver.send(&WORDS, "plum", &3)?;
        assert_eq!(driver.processor::<Totals>().totals.get("plum")?, Some(5));
        assert_eq!(driver.receive(&TOTALS)?, None);

        driver.advance_wall_clock(Duration::from_secs(1))?;
        let totals = driver.receive_all(&TOTALS)?;
        assert_eq!(totals, [("fig".to_owned(), 1), ("plum".to_owned(), 5)]);
        Ok(())
    }

    #[test]
    fn totals_survive_a_restart() -> Result<()> {
        let mut driver = TestDriver::new::<Totals>()?;
        driver.send(&WORDS, "plum", &2)?;
        driver.restart()?;
        driver.send(&WORDS, "plum", &3)?;
        assert_eq!(driver.processor::<Totals>().totals.get("plum")?, Some(5));
        Ok(())
    }
}
