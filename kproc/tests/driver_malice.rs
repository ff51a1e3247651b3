//! Processors that do what they should not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use kproc::{Policy, Retry, prelude::*, testing::TestDriver};

const IN: Topic<String, i64> = Topic::new("in");
const OUT: Topic<String, i64> = Topic::new("out");

/// Panics, but not for ever, so that a test which fails ends.
#[derive(Clone, Default)]
struct Fuse(Arc<AtomicU32>);

impl Fuse {
    fn blow(&self) {
        let times = self.0.fetch_add(1, Relaxed);
        assert!(times >= 30, "blown {times} times");
    }

    fn times(&self) -> u32 {
        self.0.load(Relaxed)
    }
}

#[processor]
#[derive(Default)]
struct ByStream {
    #[state]
    totals: Table<String, i64>,
    fuse: Fuse,
}

#[processor]
impl ByStream {
    #[on_message(IN)]
    fn add(&mut self, key: &str, n: i64) -> Result<()> {
        *self.totals.entry(key)?.or_default() += n;
        Ok(())
    }

    #[every("1s", stream_time)]
    fn tick(&mut self) {
        self.fuse.blow();
    }
}

#[processor]
#[derive(Default)]
struct ByWall {
    #[state]
    totals: Table<String, i64>,
    fuse: Fuse,
}

#[processor]
impl ByWall {
    #[on_message(IN)]
    fn add(&mut self, ctx: &mut Context<'_>, key: &str, n: i64) -> Result<()> {
        let mut total = self.totals.entry(key)?.or_default();
        *total += n;
        ctx.send(&OUT, key, &*total)?;
        Ok(())
    }

    #[every("1s")]
    fn tick(&mut self) {
        self.fuse.blow();
    }
}

#[processor]
#[derive(Default)]
struct Calm {}

#[processor]
impl Calm {
    #[on_message(IN)]
    fn add(&mut self, _n: i64) {}

    #[every("1s")]
    fn tick(&mut self) {}
}

#[test]
fn b09_a_timer_of_stream_time_that_panics_is_skipped() -> Result<()> {
    let fuse = Fuse::default();
    let app = App::new("test")
        .processor_with({
            let fuse = fuse.clone();
            move || ByStream {
                fuse: fuse.clone(),
                ..ByStream::default()
            }
        })
        .configure(|settings| settings.on_panic = Policy::Skip);
    let mut driver = TestDriver::builder(app).start()?;
    for second in 1..=3 {
        driver
            .message(&IN, "plum", &1)
            .timestamp(Timestamp::from_millis(second * 1000))
            .send()?;
    }
    assert_eq!(fuse.times(), 2);
    assert_eq!(driver.processor::<ByStream>().totals.get("plum")?, Some(3));
    Ok(())
}

#[test]
fn b09_a_timer_that_panics_more_often_than_is_committed_does_not_keep_records_from_being_done() -> Result<()>
{
    let fuse = Fuse::default();
    let app = App::new("test")
        .processor_with({
            let fuse = fuse.clone();
            move || ByWall {
                fuse: fuse.clone(),
                ..ByWall::default()
            }
        })
        .configure(|settings| {
            settings.on_panic = Policy::Skip;
            settings.commit_interval = Some(Duration::from_secs(3600));
        });
    let mut driver = TestDriver::builder(app).start()?;
    driver.send(&IN, "plum", &1)?;
    driver.advance_wall_clock(Duration::from_secs(5))?;
    driver.send(&IN, "plum", &1)?;
    let out = driver.receive_all(&OUT)?;
    assert_eq!(out, [("plum".to_owned(), 1), ("plum".to_owned(), 2)]);
    Ok(())
}

#[test]
fn b09_attempts_are_counted_for_each_processors_timer() -> Result<()> {
    let fuse = Fuse::default();
    let retry = Retry {
        attempts: 3,
        backoff: Duration::from_millis(100),
        ..Retry::default()
    };
    let app = App::new("test")
        .processor::<Calm>()
        .processor_with({
            let fuse = fuse.clone();
            move || ByWall {
                fuse: fuse.clone(),
                ..ByWall::default()
            }
        })
        .configure(|settings| settings.on_panic = Policy::Retry(retry));
    let mut driver = TestDriver::builder(app).start()?;
    driver.send(&IN, "plum", &1)?;
    let result = driver.advance_wall_clock(Duration::from_secs(20));
    assert_eq!(fuse.times(), 4);
    result.unwrap_err();
    Ok(())
}

/// Damages its own state, while it is armed.
#[processor]
#[derive(Default)]
struct Replaces {
    #[state]
    ones: Table<String, i64>,
    #[state]
    others: Table<String, i64>,
    armed: Arc<AtomicBool>,
}

const REPLACE: i64 = 13;
const SWAP: i64 = 14;

#[processor]
impl Replaces {
    #[on_message(IN)]
    fn add(&mut self, key: &str, n: i64) -> Result<()> {
        *self.ones.entry(key)?.or_default() += n;
        match n {
            REPLACE if self.armed.load(Relaxed) => self.ones = Table::default(),
            SWAP if self.armed.load(Relaxed) => std::mem::swap(&mut self.ones, &mut self.others),
            _ => {}
        }
        Ok(())
    }
}

/// Whoever damages its state is told, and nothing of it is committed: all is done again, once it is mended.
fn is_told(damage: i64) -> Result<()> {
    let armed = Arc::new(AtomicBool::new(true));
    let app = App::new("test").processor_with({
        let armed = armed.clone();
        move || Replaces {
            armed: armed.clone(),
            ..Replaces::default()
        }
    });
    let mut driver = TestDriver::builder(app).start()?;
    driver.send(&IN, "plum", &1)?;
    driver.commit()?;
    driver.send(&IN, "plum", &2)?;
    let text = driver.send(&IN, "plum", &damage).unwrap_err().to_string();
    for part in ["`replaces`", "another store in the place of `ones`"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    armed.store(false, Relaxed);
    driver.restart()?;
    let replaces = driver.processor::<Replaces>();
    assert_eq!(replaces.ones.get("plum")?, Some(1 + 2 + damage));
    assert_eq!(replaces.others.get("plum")?, None);
    Ok(())
}

#[test]
fn a_store_that_is_replaced_is_told_and_nothing_is_lost() -> Result<()> {
    is_told(REPLACE)
}

#[test]
fn stores_that_change_places_are_told_and_nothing_is_lost() -> Result<()> {
    is_told(SWAP)
}

/// Fails with guards of two stores alive, one of which has no changelog.
#[processor]
#[derive(Default)]
struct Guards {
    #[state]
    kept: Table<String, i64>,
    #[state(changelog = false)]
    local: Table<String, i64>,
}

#[processor]
impl Guards {
    #[on_message(IN)]
    fn add(&mut self, ctx: &mut Context<'_>, key: &str, n: i64) -> Result<()> {
        let mut kept = self.kept.entry(key)?.or_default();
        let mut local = self.local.entry(key)?.or_default();
        *kept += n;
        *local += n;
        ctx.send(&OUT, key, &*kept)?;
        ctx.commit();
        assert!(n != 13, "unlucky");
        if n == 14 {
            return Err(kproc::Error::msg("worse"));
        }
        Ok(())
    }
}

#[test]
fn b09_guards_that_are_alive_when_a_handler_fails_write_nothing() -> Result<()> {
    let app = App::new("test").processor::<Guards>().configure(|settings| {
        settings.on_panic = Policy::Skip;
        settings.on_processing_error = Policy::Skip;
    });
    let mut driver = TestDriver::builder(app).start()?;
    let numbers = [1, 13, 2, 14, 3, 13, 4];
    for n in numbers {
        driver.send(&IN, "plum", &n)?;
    }
    for n in numbers {
        driver.message(&IN, "plum", &n).enqueue()?;
    }
    driver.commit()?;
    let sent: Vec<i64> = driver.receive_all(&OUT)?.into_iter().map(|(_, n)| n).collect();
    assert_eq!(sent, [1, 3, 6, 10, 11, 13, 16, 20]);
    for _ in 0..2 {
        let guards = driver.processor::<Guards>();
        let totals = (guards.kept.get("plum")?, guards.local.get("plum")?);
        assert_eq!(totals, (Some(20), Some(20)));
        driver.restart()?;
    }
    Ok(())
}

/// Stores values of the size it is told.
#[processor]
#[derive(Default)]
struct Sizes {
    #[state]
    values: Table<String, String>,
}

#[processor]
impl Sizes {
    #[on_message(IN)]
    fn put(&mut self, key: &str, size: i64) -> Result<()> {
        self.values.put(key, &"x".repeat(size.try_into()?))?;
        Ok(())
    }
}

#[test]
fn b20_what_a_store_takes_its_changelog_takes_too() -> Result<()> {
    let app = App::new("test").processor::<Sizes>();
    let app = app.configure(|settings| settings.on_processing_error = Policy::Skip);
    let mut driver = TestDriver::builder(app).start()?;
    let longest = "k".repeat(511);
    // Around what a record may take by default, 1 MiB and 12 bytes, with what Kafka adds to key and value.
    let mut largest = 0;
    for size in (1_048_588 - 511 - 120)..1_048_588 - 511 {
        driver.send(&IN, &longest, &size)?;
        driver.commit()?;
        let kept = driver.processor::<Sizes>().values.get(&longest)?.map(str::len);
        let kept = i64::try_from(kept.unwrap_or_default())?;
        assert!(kept == size || kept == largest && largest > 0, "{kept} of {size}");
        largest = kept;
    }
    assert!(largest < 1_048_588 - 511 - 1, "something is refused");
    Ok(())
}

/// Both its record and its timer fail.
#[processor]
#[derive(Default)]
struct AllFails {
    fuse: Fuse,
    records: Fuse,
}

#[processor]
impl AllFails {
    #[on_message(IN)]
    fn add(&mut self, ctx: &mut Context<'_>, n: i64) -> Result<()> {
        self.records.0.fetch_add(1, Relaxed);
        if n == 1 {
            return Err(kproc::Error::msg("no"));
        }
        ctx.send(&OUT, "plum", &n)?;
        Ok(())
    }

    #[every("100ms")]
    fn tick(&mut self) -> Result<()> {
        self.fuse.0.fetch_add(1, Relaxed);
        Err(kproc::Error::msg("no"))
    }
}

#[test]
fn b09_a_failing_timer_does_not_reset_the_attempts_of_a_record() -> Result<()> {
    let (fuse, records) = (Fuse::default(), Fuse::default());
    let retry = Retry {
        attempts: 2,
        backoff: Duration::from_millis(200),
        then_skip: true,
        ..Retry::default()
    };
    let app = App::new("test")
        .processor_with({
            let (fuse, records) = (fuse.clone(), records.clone());
            move || AllFails {
                fuse: fuse.clone(),
                records: records.clone(),
            }
        })
        .configure(|settings| settings.on_processing_error = Policy::Retry(retry));
    let mut driver = TestDriver::builder(app).start()?;
    driver.send(&IN, "plum", &1)?;
    driver.send(&IN, "plum", &2)?;
    driver.advance_wall_clock(Duration::from_secs(60))?;
    assert_eq!(driver.receive_all(&OUT)?, [("plum".to_owned(), 2)]);
    assert_eq!(records.times(), 4, "three times the first, once the second");
    Ok(())
}
