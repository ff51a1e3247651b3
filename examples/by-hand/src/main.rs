//! A processor without macros: everything that `#[processor]` would write, by hand.
//!
//! It counts the words it reads and sends each with its new count; once a second it sends how many different
//! words there are. Try it:
//!
//! ```sh
//! printf 'apple\nplum\napple\n' | cargo run -p by-hand -- run --embedded --feed words=- --dump counts=-
//! ```

use std::{borrow::Cow, time::Duration};

use kproc::{
    Codec, Context, Error, ErrorKind, Null, Processor, Record, Result, Table, Timer, TimerClock, Timestamp,
    Topic,
    processor::{Declare, Start, StoreOptions},
};

/// What comes in: words, whatever their keys.
const WORDS: Topic<String, String> = Topic::new("words");
/// What goes out: each word with how often it was seen.
const COUNTS: Topic<String, u64> = Topic::new("counts");
/// And how many different words there are, without a key.
const SIZES: Topic<String, u64> = Topic::new("sizes");

// Inputs and timers have numbers. `declare` gives them, `process` and `punctuate` are called with them.
const WORDS_INPUT: usize = 0;
const EVERY_SECOND: usize = 0;

/// Counts words.
///
/// `Default` makes one for each partition. Its table is closed then; kproc opens it once its content has been
/// restored, before `start`.
#[derive(Default)]
struct Count {
    counts: Table<String, u64>,
    /// A plain field: not kept anywhere, and built anew whenever the task is.
    since_start: u64,
}

impl Processor for Count {
    /// The name in changelogs and state directories. Without this method it would be made of the type's name,
    /// and renaming the type would lose the state.
    fn name() -> Cow<'static, str> {
        "count".into()
    }

    /// What it reads, sends, keeps and is woken for. Called on each new instance, before anything else.
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(WORDS_INPUT, &WORDS, Start::Earliest);
        // Outputs may be left out; declared, `topology` and `topics` show them.
        to.output(&COUNTS);
        to.output(&SIZES);
        to.store("counts", StoreOptions::default(), &mut self.counts);
        to.every(EVERY_SECOND, Duration::from_secs(1), TimerClock::Wall);
    }

    /// A task begins; the table is open, and as it was left.
    async fn start(&mut self, _: &mut Context<'_>) -> Result<()> {
        self.since_start = 0;
        Ok(())
    }

    /// A record has come. If this fails, nothing that it sent or stored remains.
    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        // There is one input only; with several, this would be a `match record.input`.
        debug_assert_eq!(record.input, WORDS_INPUT);
        // `None` is null, which is not the same as an empty text. The kind of an error decides which policy is
        // asked: `on_deserialization_error` here.
        let unreadable = |error| Error::new(ErrorKind::Deserialization, error);
        let bytes = record
            .value
            .ok_or_else(|| Error::new(ErrorKind::Deserialization, "a word cannot be null"))?;
        // The word is lent by the record, not copied.
        let word: &str = String::decode(bytes).map_err(unreadable)?;

        let count = self.counts.get(word)?.unwrap_or_default() + 1;
        self.counts.put(word, &count)?;
        self.since_start += 1;
        ctx.send(&COUNTS, word, &count)?;
        Ok(())
    }

    /// A timer fires.
    async fn punctuate(&mut self, ctx: &mut Context<'_>, timer: Timer, _now: Timestamp) -> Result<()> {
        match timer {
            Timer::Every(EVERY_SECOND) => {
                ctx.send(&SIZES, Null, &(self.counts.len()? as u64))?;
            }
            // Nothing else was declared, and `declare` has not said `handles_scheduled`.
            Timer::Every(_) | Timer::Scheduled(_) => {}
        }
        Ok(())
    }

    /// A task ends in good order. What is sent and stored here is still committed.
    async fn stop(&mut self, _: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
}

kproc::main!(Count);

#[cfg(test)]
mod tests {
    use kproc::testing::TestDriver;

    use super::*;

    #[test]
    fn words_are_counted_and_a_null_is_no_word() -> Result<()> {
        let mut driver = TestDriver::new::<Count>()?;
        driver.send(&WORDS, Null, "plum")?;
        driver.send(&WORDS, Null, "fig")?;
        driver.send(&WORDS, Null, "plum")?;
        let counts = driver.receive_all(&COUNTS)?;
        assert_eq!(
            counts,
            [
                ("plum".to_owned(), 1),
                ("fig".to_owned(), 1),
                ("plum".to_owned(), 2)
            ]
        );
        assert_eq!(driver.processor::<Count>().since_start, 3);

        driver.restart()?;
        assert_eq!(driver.processor::<Count>().counts.get("plum")?, Some(2));
        assert_eq!(driver.processor::<Count>().since_start, 0);

        let failure = driver.send(&WORDS, "key", Null).unwrap_err();
        assert!(failure.to_string().contains("a word cannot be null"), "{failure}");
        Ok(())
    }

    #[test]
    fn the_number_of_words_is_sent_every_second() -> Result<()> {
        let mut driver = TestDriver::new::<Count>()?;
        driver.send(&WORDS, Null, "plum")?;
        driver.advance_wall_clock(Duration::from_secs(1))?;
        let size = driver.receive_record(&SIZES)?.expect("a record every second");
        assert_eq!((size.key()?, size.value()?), (None, Some(1)));
        Ok(())
    }
}
