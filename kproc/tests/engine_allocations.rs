//! A record whose key and value are borrowed costs no heap allocation: shown by counting them all.
//!
//! A binary of its own, without the test harness, whose threads would allocate in between.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use kproc::{
    __rig::{Fed, Load, Rig},
    Processor, Topic,
    prelude::*,
};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the block came from `System`, with this layout; the caller vouches for the new size.
        unsafe { System.realloc(block, layout, new_size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const WORDS: Topic<String, i64> = Topic::new("words");
const TOTALS: Topic<String, i64> = Topic::new("totals");

#[processor]
#[derive(Default)]
struct Borrows {
    sum: usize,
}

#[processor]
impl Borrows {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) {
        self.sum += word.len() + n as usize;
    }
}

#[processor]
#[derive(Default)]
struct Waits {
    sum: usize,
}

#[processor]
impl Waits {
    #[on_message(WORDS)]
    async fn add(&mut self, word: &str, n: i64) {
        std::future::ready(()).await;
        self.sum += word.len() + n as usize;
    }
}

#[processor]
#[derive(Default)]
struct KeepsAndSends {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl KeepsAndSends {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        let total = self.totals.get(word)?.unwrap_or_default();
        *self.totals.entry(word)?.or_default() += n;
        ctx.send(&TOTALS, word, &total)?;
        ctx.message(&TOTALS, word, &total).header("from", "test").send()?;
        Ok(())
    }
}

#[processor]
#[derive(Default)]
struct Owns {
    sum: usize,
}

#[processor]
impl Owns {
    #[on_message(WORDS)]
    fn add(&mut self, word: String, _: i64) {
        self.sum += word.len();
    }
}

/// How many allocations this many records cost, with everything warm.
fn cost<P: Processor + Default>(records: usize) -> usize {
    let keys: Vec<_> = (0..1_000).map(|key| format!("word-{key:05}")).collect();
    let value = 3_i64.to_be_bytes();
    let load = |first: usize| {
        let records = (first..first + records).map(|record| Fed {
            key: Some(keys[record % keys.len()].as_bytes()),
            value: Some(&value),
            // Each of them moves stream time.
            timestamp: Some(1_700_000_000_000 + record as i64),
            headers: &[],
        });
        Load::new(first as u64, &records.collect::<Vec<_>>())
    };
    let mut rig = Rig::new::<P>();
    let mut round = |load: &Load| {
        rig.feed_load(0, load);
        rig.work();
        rig.drain();
    };
    let (warm, measured) = (load(0), load(records));
    round(&warm);
    let before = ALLOCATIONS.load(Relaxed);
    round(&measured);
    ALLOCATIONS.load(Relaxed) - before
}

fn main() {
    const RECORDS: usize = 100_000;
    // Each 1,024 records are a stretch of work, which costs a few allocations.
    const ALLOWED: usize = (RECORDS / 1_024 + 1) * 10;
    let borrowed = [
        ("borrowed items", cost::<Borrows>(RECORDS)),
        ("an async handler", cost::<Waits>(RECORDS)),
        ("a warm table, and sending", cost::<KeepsAndSends>(RECORDS)),
    ];
    for (what, allocations) in borrowed {
        println!("{what}: {allocations} allocations for {RECORDS} records");
        assert!(
            allocations <= ALLOWED,
            "{what}: {allocations} allocations for {RECORDS} records"
        );
    }
    // The count counts.
    let owned = cost::<Owns>(RECORDS);
    println!("an owned item: {owned} allocations for {RECORDS} records");
    assert!(owned >= RECORDS);
}
