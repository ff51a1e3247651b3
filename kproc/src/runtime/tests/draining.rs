//! The end of an input is found across topics, and timers fire once more.

use std::time::Duration;

use crate::{
    Context, Processor, Record, Result, Table, Timer, TimerClock, Timestamp, Topic,
    engine::factory,
    processor::{Declare, Start, StoreOptions},
    testing::exec::Executor,
};

use super::kit::*;

const LINES: Topic<String, i64> = Topic::new("lines");
const TOTALS: Topic<String, i64> = Topic::new("totals");

/// Sends each record on, three times.
struct Split;

impl Processor for Split {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &LINES, Start::Earliest);
        to.output(&WORDS);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        for value in 0..3 {
            ctx.send(&WORDS, key, &value)?;
        }
        Ok(())
    }
}

/// Counts, and tells only once in a long while.
#[derive(Default)]
struct Tell {
    totals: Table<String, i64>,
}

impl Processor for Tell {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&TOTALS);
        to.store("totals", StoreOptions::default(), &mut self.totals);
        to.every(0, Duration::from_secs(3600), TimerClock::Wall);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        let total = self.totals.get(key)?.unwrap_or_default() + 1;
        Ok(self.totals.put(key, &total)?)
    }

    async fn punctuate(&mut self, ctx: &mut Context<'_>, _: Timer, _: Timestamp) -> Result<()> {
        for entry in &self.totals {
            let (key, total) = entry?;
            ctx.send(&TOTALS, key, &total)?;
        }
        Ok(())
    }
}

#[test]
fn all_is_drained_across_topics_and_then_the_timers_fire_once() {
    for seed in 0..20 {
        let topics = [("lines", 2), ("words", 3), ("totals", 1)];
        let mut world = World::new(Executor::new(seed), &topics);
        for number in 0..50 {
            world.write("lines", number % 2, &format!("k{}", number % 5), 0);
        }
        let settings = world.settings("a");
        let instance = world.start_app(settings, vec![factory(|| Split), factory(Tell::default)]);
        world.drain(&instance);
        assert_eq!(world.read("totals", 0), [], "seed {seed}");
        world.finish(instance.running.fire_wall_timers()).unwrap();
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        let mut totals = world.read("totals", 0);
        totals.sort();
        let due: Vec<_> = (0..5).map(|key| (format!("k{key}"), Some(30))).collect();
        assert_eq!(totals, due, "seed {seed}");
    }
}
