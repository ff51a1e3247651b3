//! Two processors with a topic between them, under many seeds, with restarts and crashes in between.

use std::collections::BTreeMap;

use kproc::{prelude::*, testing::TestDriver};

const LINES: Topic<String, String> = Topic::new("lines");
const WORDS: Topic<String, String> = Topic::new("words");
const COUNTS: Topic<String, i64> = Topic::new("counts");
const PARTITIONS: u32 = 3;

#[processor]
#[derive(Default)]
struct Split {}

#[processor]
impl Split {
    #[on_message(LINES)]
    fn split(&mut self, ctx: &mut Context<'_>, line: &str) -> Result<()> {
        for word in line.split(' ') {
            ctx.send(&WORDS, word, "")?;
        }
        Ok(())
    }
}

#[processor]
#[derive(Default)]
struct Count {
    #[state]
    counts: Table<String, i64>,
}

#[processor]
impl Count {
    #[on_message(WORDS)]
    fn count(&mut self, ctx: &mut Context<'_>, word: &str, _: &str) -> Result<()> {
        let mut count = self.counts.entry(word)?.or_default();
        *count += 1;
        ctx.send(&COUNTS, word, &*count)?;
        Ok(())
    }
}

/// What happens between two lines.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Restarts,
    Crashes,
}

/// Counts of the truth, and of the application; and all that it sent.
struct Outcome {
    truth: BTreeMap<String, i64>,
    counted: BTreeMap<String, i64>,
    sent: Vec<(String, i64)>,
}

fn run(seed: u64, between: Between) -> Result<Outcome> {
    let app = App::new("count-words").processor::<Split>().processor::<Count>();
    let mut driver = TestDriver::builder(app)
        .partitions(PARTITIONS)
        .seed(seed)
        .start()?;
    let mut truth = BTreeMap::new();
    let mut chance = seed;
    let mut below = |end: u64| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % end
    };
    for _ in 0..60 {
        let words: Vec<String> = (0..=below(4)).map(|_| format!("w{}", below(7))).collect();
        for word in &words {
            *truth.entry(word.clone()).or_default() += 1;
        }
        driver.message(&LINES, Null, words.join(" ").as_str()).enqueue()?;
        match (below(12), between) {
            (0, Between::Restarts) => driver.restart()?,
            (0, Between::Crashes) => driver.crash()?,
            (1, _) => driver.commit()?,
            _ => {}
        }
    }
    let sent = driver.receive_all(&COUNTS)?;
    let mut counted = BTreeMap::new();
    for (_, count) in driver.processors::<Count>() {
        for entry in &count.counts {
            let (word, count) = entry?;
            let twice = counted.insert(word.to_owned(), count);
            assert_eq!(twice, None, "{word} is in two partitions");
        }
    }
    Ok(Outcome { truth, counted, sent })
}

#[test]
fn restarts_lose_nothing_and_repeat_nothing() -> Result<()> {
    for seed in 0..25 {
        let Outcome { truth, counted, sent } = run(seed, Between::Restarts)?;
        assert_eq!(counted, truth, "seed {seed}");
        assert_eq!(sent.len() as i64, truth.values().sum::<i64>(), "seed {seed}");
    }
    Ok(())
}

#[test]
fn crashes_lose_nothing() -> Result<()> {
    let mut repeated = 0;
    for seed in 0..25 {
        let Outcome { truth, counted, .. } = run(seed, Between::Crashes)?;
        for (word, count) in &truth {
            // At least once: what came after the last commit may count twice.
            assert!(
                counted.get(word) >= Some(count),
                "seed {seed}: {word} of {truth:?} in {counted:?}"
            );
        }
        repeated += u32::from(counted != truth);
    }
    assert!(
        repeated > 0,
        "no crash met anything uncommitted: the test shows nothing"
    );
    Ok(())
}

#[test]
fn a_seed_repeats_itself_over_crashes() -> Result<()> {
    for seed in 0..5 {
        let (once, again) = (run(seed, Between::Crashes)?, run(seed, Between::Crashes)?);
        assert_eq!(once.sent, again.sent, "seed {seed}");
        assert_eq!(once.counted, again.counted, "seed {seed}");
    }
    Ok(())
}
