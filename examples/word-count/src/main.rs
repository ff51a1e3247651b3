//! Counts words: lines are split, their words go to an intermediate topic, and are counted there.
//!
//! ```sh
//! printf 'apple\nplum\napple\n' | cargo run -p word-count -- run --embedded --feed lines=- --dump counts=-
//! ```
//!
//! Why a topic in between? Lines are spread over partitions in any way, but all of a word must be counted in one
//! place. Sent with the word as its key, it always comes to the same partition of `words`.

use kproc::prelude::*;

/// What comes in: lines of text, whatever their keys.
const LINES: Topic<String, String> = Topic::new("lines");
/// One record for each word that was seen, keyed by it, so that equal words come together.
const WORDS: Topic<String, String> = Topic::new("words");
/// What goes out: each word with how often it was seen so far.
const COUNTS: Topic<String, u64> = Topic::new("counts");

/// Splits lines into words.
#[processor]
#[derive(Default)]
struct Split {}

#[processor(sends(WORDS))]
impl Split {
    #[on_message(LINES)]
    fn split(&mut self, ctx: &mut Context<'_>, line: &str) -> Result<()> {
        for word in line.split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            if !word.is_empty() {
                ctx.send(&WORDS, &word, &word)?;
            }
        }
        Ok(())
    }
}

/// Counts words.
#[processor]
#[derive(Default)]
struct Count {
    #[state]
    counts: Table<String, u64>,
}

#[processor(sends(COUNTS))]
impl Count {
    #[on_message(WORDS)]
    fn count(&mut self, ctx: &mut Context<'_>, word: &str) -> Result<()> {
        let count = self.counts.get(word)?.unwrap_or_default() + 1;
        self.counts.put(word, &count)?;
        ctx.send(&COUNTS, word, &count)?;
        Ok(())
    }
}

kproc::main!(Split, Count);

#[cfg(test)]
mod tests {
    use kproc::testing::TestDriver;

    use super::*;

    #[test]
    fn words_of_all_partitions_of_lines_are_counted_together() -> Result<()> {
        let app = App::new("word-count").processor::<Split>().processor::<Count>();
        let mut driver = TestDriver::builder(app).partitions(3).start()?;
        for line in ["A rose", "is a rose,", "", "is a ROSE."] {
            driver.send(&LINES, Null, line)?; // without a key: to any partition
        }
        let mut counts = driver.receive_all(&COUNTS)?;
        counts.sort();
        let expected = [
            ("a", 1),
            ("a", 2),
            ("a", 3),
            ("is", 1),
            ("is", 2),
            ("rose", 1),
            ("rose", 2),
            ("rose", 3),
        ];
        assert_eq!(counts, expected.map(|(word, count)| (word.to_owned(), count)));
        Ok(())
    }
}
