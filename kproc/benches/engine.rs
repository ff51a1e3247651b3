//! What the engine alone costs, without a cluster: `cargo bench -p kproc --bench engine`.
//!
//! Each sample is 10,000 records of a text key and a number, with 1,000 keys; divide by 10,000, or read the
//! throughput.

use divan::{Bencher, counter::ItemsCount};
use kproc::{
    __rig::{Fed, Load, Rig},
    Context, Table, Topic,
    prelude::*,
};

const WORDS: Topic<String, i64> = Topic::new("words");
const TOTALS: Topic<String, i64> = Topic::new("totals");
const RECORDS: usize = 10_000;
const KEYS: usize = 1_000;

fn main() {
    divan::main();
}

/// Records of this round, each a millisecond after the one before: all of them move stream time.
fn load(round: usize) -> Load {
    let keys: Vec<_> = (0..KEYS).map(|key| format!("word-{key:05}")).collect();
    let value = 3_i64.to_be_bytes();
    // Shuffled, so that neighbours in time are none in memory.
    let records: Vec<_> = (0..RECORDS)
        .map(|record| Fed {
            key: Some(keys[record * 7919 % KEYS].as_bytes()),
            value: Some(&value),
            timestamp: Some(1_700_000_000_000 + (round * RECORDS + record) as i64),
            headers: &[],
        })
        .collect();
    Load::new(0, &records)
}

/// Measures a processor on 10,000 records, its state warm.
fn measure<P: kproc::Processor + Default>(bencher: Bencher<'_, '_>) {
    let mut rig = Rig::new::<P>();
    let mut work = |load: Load| {
        rig.feed_load(0, &load);
        rig.work();
        rig.drain()
    };
    work(load(0));
    let mut round = 0;
    bencher
        .with_inputs(|| {
            round += 1;
            load(round)
        })
        .counter(ItemsCount::new(RECORDS))
        .bench_local_values(work);
}

/// What there is no way around: a loop over the records that decodes and adds up, without an engine.
#[divan::bench]
fn plain_loop(bencher: Bencher<'_, '_>) {
    let mut round = 0;
    bencher
        .with_inputs(|| {
            round += 1;
            load(round)
        })
        .counter(ItemsCount::new(RECORDS))
        .bench_local_values(|load| {
            let mut sum = 0_i64;
            load.each(|record| {
                if let Ok((Some(word), Some(n))) = record.decode(&WORDS) {
                    sum = sum.wrapping_add(n + word.len() as i64);
                }
            });
            sum
        });
}

#[processor]
#[derive(Default)]
struct Sum {
    sum: i64,
}

#[processor]
impl Sum {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) {
        self.sum = self.sum.wrapping_add(n + word.len() as i64);
    }
}

#[divan::bench]
fn dispatch_and_decode(bencher: Bencher<'_, '_>) {
    measure::<Sum>(bencher);
}

#[processor]
#[derive(Default)]
struct SumAsync {
    sum: i64,
}

#[processor]
impl SumAsync {
    #[on_message(WORDS)]
    async fn add(&mut self, word: &str, n: i64) {
        self.sum = self.sum.wrapping_add(n + word.len() as i64);
    }
}

#[divan::bench]
fn dispatch_and_decode_async(bencher: Bencher<'_, '_>) {
    measure::<SumAsync>(bencher);
}

#[processor]
#[derive(Default)]
struct Entry {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl Entry {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }
}

#[divan::bench]
fn entry(bencher: Bencher<'_, '_>) {
    measure::<Entry>(bencher);
}

#[processor]
#[derive(Default)]
struct GetPut {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl GetPut {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        let total = self.totals.get(word)?.unwrap_or_default();
        self.totals.put(word, &(total + n))?;
        Ok(())
    }
}

#[divan::bench]
fn get_and_put(bencher: Bencher<'_, '_>) {
    measure::<GetPut>(bencher);
}

#[processor]
#[derive(Default)]
struct Pass {}

#[processor]
impl Pass {
    #[on_message(WORDS)]
    fn pass(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        ctx.send(&TOTALS, word, &n)?;
        Ok(())
    }
}

#[divan::bench]
fn send(bencher: Bencher<'_, '_>) {
    measure::<Pass>(bencher);
}

#[processor]
#[derive(Default)]
struct All {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl All {
    #[on_message(WORDS)]
    fn pass(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        let entry = self.totals.entry(word)?;
        let mut total = entry.or_default();
        *total += n;
        ctx.send(&TOTALS, word, &*total)?;
        Ok(())
    }
}

#[divan::bench]
fn entry_and_send(bencher: Bencher<'_, '_>) {
    measure::<All>(bencher);
}
