//! Bad records, failing handlers, restarts and crashes, as the test driver shows them.

use std::time::Duration;

use kproc::{
    ErrorKind, Partition, Policy, RunError,
    prelude::*,
    testing::{DriverError, TestDriver},
};

const WORDS: Topic<String, i64> = Topic::new("words");
const TOTALS: Topic<String, i64> = Topic::new("totals");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
    seen: u32,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        assert!(n != 13, "unlucky");
        let mut total = self.totals.entry(word)?.or_default();
        *total += n;
        self.seen += 1;
        ctx.send(&TOTALS, word, &*total)?;
        if n < 0 {
            return Err(kproc::Error::msg("no such number"));
        }
        Ok(())
    }
}

fn skipping() -> App {
    App::new("test")
        .processor::<Totals>()
        .configure(|settings| settings.on_deserialization_error = Policy::Skip)
}

/// The failure of a call.
fn failed(result: std::result::Result<(), DriverError>) -> (Option<u64>, ErrorKind, String) {
    let error = result.expect_err("the call fails");
    let message = error.to_string();
    let DriverError::Failed(RunError::Task(failure)) = error else {
        panic!("{message}");
    };
    let record = failure.record.as_ref().map(|(partition, offset)| {
        assert_eq!(partition.to_string(), "words[0]");
        offset.get()
    });
    (record, failure.kind, message)
}

#[test]
fn b05_a_tombstone_between_two_records() -> Result<()> {
    let mut driver = TestDriver::builder(skipping()).start()?;
    driver.send(&WORDS, "plum", &3)?;
    driver.send(&WORDS, "plum", Null)?;
    driver.send(&WORDS, "plum", &4)?;
    assert_eq!(
        driver.receive_all(&TOTALS)?,
        [3, 7].map(|n| ("plum".to_owned(), n))
    );

    let mut driver = TestDriver::new::<Totals>()?;
    driver.send(&WORDS, "plum", &3)?;
    let (record, kind, message) = failed(driver.send(&WORDS, "plum", Null));
    assert_eq!((record, kind), (Some(1), ErrorKind::Deserialization), "{message}");
    Ok(())
}

#[test]
fn b08_a_key_that_is_no_text() -> Result<()> {
    let four = 4_i64.to_be_bytes();
    let mut driver = TestDriver::builder(skipping()).start()?;
    driver.raw(&WORDS, Some(b"\xff\xfe\x00"), Some(&four)).enqueue()?;
    driver.send(&WORDS, "plum", &4)?;
    assert_eq!(driver.receive_all(&TOTALS)?, [("plum".to_owned(), 4)]);

    let mut driver = TestDriver::new::<Totals>()?;
    let (record, kind, message) = failed(driver.raw(&WORDS, Some(b"\xff\xfe\x00"), Some(&four)).send());
    assert_eq!((record, kind), (Some(0), ErrorKind::Deserialization), "{message}");
    assert!(
        message.contains("words[0]") && message.contains("offset 0"),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_failing_handler_leaves_nothing_behind() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    driver.send(&WORDS, "plum", &3)?;
    let (record, kind, message) = failed(driver.send(&WORDS, "plum", &-1));
    assert_eq!((record, kind), (Some(1), ErrorKind::Processing));
    assert!(message.contains("no such number"), "{message}");
    assert_eq!(driver.receive_all(&TOTALS)?, [("plum".to_owned(), 3)]);
    Ok(())
}

#[test]
fn g11_a_panic_is_a_failure_and_never_silent() -> Result<()> {
    let mut driver = TestDriver::builder(App::new("test").processor::<Totals>())
        .partitions(2)
        .start()?;
    let result = driver
        .message(&WORDS, "plum", &13)
        .partition(Partition::new(0))
        .send();
    let (record, kind, message) = failed(result);
    assert_eq!((record, kind), (Some(0), ErrorKind::Panic));
    assert!(message.contains("unlucky"), "{message}");
    // A failure is told by every further call, until the application is started again.
    failed(driver.advance_wall_clock(Duration::from_secs(1)));
    failed(
        driver
            .message(&WORDS, "plum", &1)
            .partition(Partition::new(1))
            .send(),
    );
    // It meets the same record again.
    failed(driver.restart());
    Ok(())
}

#[test]
fn a_restart_keeps_state_and_repeats_nothing() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    driver.send(&WORDS, "plum", &3)?;
    driver.restart()?;
    assert_eq!(driver.processor::<Totals>().totals.get("plum")?, Some(3));
    assert_eq!(driver.processor::<Totals>().seen, 0);
    driver.send(&WORDS, "plum", &4)?;
    assert_eq!(
        driver.receive_all(&TOTALS)?,
        [3, 7].map(|n| ("plum".to_owned(), n))
    );
    Ok(())
}

#[test]
fn a_crash_falls_back_to_the_last_commit() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    driver.send(&WORDS, "plum", &3)?;
    driver.commit()?;
    driver.send(&WORDS, "plum", &4)?;
    driver.crash()?;
    let totals = driver.processor::<Totals>();
    assert_eq!((totals.totals.get("plum")?, totals.seen), (Some(7), 1));
    // At-least-once: what was sent after the last commit is sent again.
    assert_eq!(
        driver.receive_all(&TOTALS)?,
        [3, 7, 7].map(|n| ("plum".to_owned(), n))
    );
    Ok(())
}

#[test]
fn commits_come_by_themselves_when_time_passes() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    driver.send(&WORDS, "plum", &3)?;
    driver.advance_wall_clock(Duration::from_secs(2))?;
    driver.crash()?;
    let totals = driver.processor::<Totals>();
    assert_eq!((totals.totals.get("plum")?, totals.seen), (Some(3), 0));
    Ok(())
}

/// The first version of a program.
mod first {
    use super::*;

    #[processor]
    #[derive(Default)]
    pub(super) struct Shop {
        #[state]
        pub(super) counts: Table<String, i64>,
    }

    #[processor]
    impl Shop {
        #[on_message(WORDS)]
        fn count(&mut self, word: &str, n: i64) -> Result<()> {
            *self.counts.entry(word)?.or_default() += n;
            Ok(())
        }
    }
}

/// The second: a store was added above.
mod second {
    use super::*;

    #[processor]
    #[derive(Default)]
    pub(super) struct Shop {
        #[state]
        pub(super) latest: Table<String, i64>,
        #[state]
        pub(super) counts: Table<String, i64>,
    }

    #[processor]
    impl Shop {
        #[on_message(WORDS)]
        fn count(&mut self, word: &str, n: i64) -> Result<()> {
            self.latest.put(word, &n)?;
            *self.counts.entry(word)?.or_default() += n;
            Ok(())
        }
    }
}

#[test]
fn d12_a_store_added_above_another_moves_no_state() -> Result<()> {
    for wiped in [false, true] {
        let mut driver = TestDriver::new::<first::Shop>()?;
        driver.send(&WORDS, "plum", &3)?;
        driver.stop()?;
        if wiped {
            driver.wipe_state()?;
        }
        driver.start_as(App::new("test").processor::<second::Shop>())?;
        let shop = driver.processor::<second::Shop>();
        assert_eq!(shop.counts.get("plum")?, Some(3), "wiped: {wiped}");
        assert_eq!(shop.latest.get("plum")?, None);
        driver.send(&WORDS, "plum", &4)?;
        let shop = driver.processor::<second::Shop>();
        assert_eq!(
            (shop.counts.get("plum")?, shop.latest.get("plum")?),
            (Some(7), Some(4))
        );
        // And back again, and on.
        driver.start_as(App::new("test").processor::<first::Shop>())?;
        driver.send(&WORDS, "plum", &5)?;
        driver.start_as(App::new("test").processor::<second::Shop>())?;
        let shop = driver.processor::<second::Shop>();
        assert_eq!(
            (shop.counts.get("plum")?, shop.latest.get("plum")?),
            (Some(12), Some(4))
        );
    }
    Ok(())
}

#[processor]
#[derive(Default)]
struct Ticking {}

#[processor]
impl Ticking {
    #[on_message(WORDS)]
    fn add(&mut self, n: i64) -> Result<()> {
        Err(format!("{n} is too much").into())
    }

    #[every("1s")]
    fn tick(&mut self) -> Result<()> {
        Err("no tock".into())
    }
}

#[test]
fn a_failure_says_which_method_has_failed_and_what_to_do() -> Result<()> {
    let mut driver = TestDriver::new::<Ticking>()?;
    assert_eq!(
        failed(driver.advance_wall_clock(Duration::from_secs(1))).2,
        "processor `ticking`, timer `tick`, every 1s: no tock; to pass over such failures, set \
         `on_processing_error` to `skip`"
    );

    let mut driver = TestDriver::new::<Ticking>()?;
    assert_eq!(
        failed(driver.send(&WORDS, "plum", &3)).2,
        "processor `ticking`, record words[0] offset 0: 3 is too much; to pass over such records, set \
         `on_processing_error` to `skip`"
    );
    Ok(())
}

/// Sends wherever it is told to.
#[processor]
#[derive(Default)]
struct Courier {
    #[state]
    sent: Table<String, i64>,
}

#[processor]
impl Courier {
    #[on_message(WORDS)]
    fn carry(&mut self, ctx: &mut Context<'_>, name: &str, n: i64) -> Result<()> {
        self.sent.put(name, &n)?;
        ctx.send(&Topic::<String, i64>::named(name)?, "key", &n)?;
        Ok(())
    }
}

#[test]
fn changelogs_cannot_be_sent_to() -> Result<()> {
    let changelog = "test-courier-sent-changelog";
    let app = || App::new("test").processor::<Courier>();
    let mut driver = TestDriver::builder(app()).start()?;
    driver.send(&WORDS, "totals", &1)?;
    assert_eq!(driver.receive(&TOTALS)?, Some(("key".to_owned(), 1)));
    let (offset, kind, message) = failed(driver.send(&WORDS, changelog, &2));
    assert_eq!((offset, kind), (Some(1), ErrorKind::Processing));
    assert!(
        message.contains(changelog) && message.contains("kept for the changelogs"),
        "{message}"
    );

    // The policy decides, and what the handler had put is undone.
    let app = app().configure(|settings| settings.on_processing_error = Policy::Skip);
    let mut driver = TestDriver::builder(app).start()?;
    driver.send(&WORDS, changelog, &2)?;
    driver.send(&WORDS, "totals", &3)?;
    assert_eq!(driver.receive(&TOTALS)?, Some(("key".to_owned(), 3)));
    let sent = &driver.processor::<Courier>().sent;
    assert_eq!((sent.get(changelog)?, sent.get("totals")?), (None, Some(3)));
    Ok(())
}
