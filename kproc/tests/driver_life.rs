//! How an application begins, goes on and ends under the test driver, and what it says when it cannot.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use kproc::{
    Error, Partition, Policy, Retry, RunError,
    prelude::*,
    testing::{DriverError, TestDriver},
};

const LEFT: Topic<String, i64> = Topic::new("left");
const RIGHT: Topic<String, i64> = Topic::new("right");
const OUT: Topic<String, i64> = Topic::new("out");

/// Passes on what it reads, and says when it begins and ends.
#[processor]
#[derive(Default)]
struct Both {
    #[state]
    last: Table<String, i64>,
}

#[processor]
impl Both {
    #[on_start]
    fn begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        ctx.send(&OUT, "begin", &0)?;
        Ok(())
    }

    #[on_message(LEFT)]
    fn left(&mut self, ctx: &mut Context<'_>, key: &str, n: i64) -> Result<()> {
        self.last.put(key, &n)?;
        ctx.send(&OUT, key, &n)?;
        Ok(())
    }

    #[on_message(RIGHT)]
    fn right(&mut self, ctx: &mut Context<'_>, key: &str, n: i64) -> Result<()> {
        self.last.put(key, &n)?;
        ctx.send(&OUT, key, &n)?;
        Ok(())
    }

    #[on_stop]
    fn end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        ctx.send(&OUT, "end", &0)?;
        Ok(())
    }
}

fn both() -> App {
    App::new("test").processor::<Both>()
}

fn received(driver: &mut TestDriver) -> Result<Vec<String>> {
    let all = driver.receive_all(&OUT)?;
    Ok(all.into_iter().map(|(key, n)| format!("{key} {n}")).collect())
}

#[test]
fn inputs_that_wait_together_are_merged_by_time() -> Result<()> {
    let mut driver = TestDriver::builder(both()).start()?;
    for (n, milliseconds) in [(1, 10), (3, 30), (5, 50)] {
        let message = driver.message(&LEFT, "left", &n);
        message
            .timestamp(Timestamp::from_millis(milliseconds))
            .enqueue()?;
    }
    for (n, milliseconds) in [(2, 20), (4, 40)] {
        let message = driver.message(&RIGHT, "right", &n);
        message
            .timestamp(Timestamp::from_millis(milliseconds))
            .enqueue()?;
    }
    assert_eq!(
        received(&mut driver)?,
        ["begin 0", "left 1", "right 2", "left 3", "right 4", "left 5"]
    );
    Ok(())
}

#[test]
fn a_stopped_application_finds_later_what_was_sent_meanwhile() -> Result<()> {
    let mut driver = TestDriver::builder(both()).start()?;
    driver.stop()?;
    assert_eq!(received(&mut driver)?, ["begin 0", "end 0"]);
    driver.stop()?;
    driver.send(&LEFT, "left", &1)?;
    driver.advance_wall_clock(Duration::from_secs(60))?;
    assert!(received(&mut driver)?.is_empty());
    driver.start()?;
    driver.start()?;
    assert_eq!(received(&mut driver)?, ["begin 0", "left 1"]);
    Ok(())
}

#[test]
fn a_crash_says_no_goodbye() -> Result<()> {
    let mut driver = TestDriver::builder(both()).start()?;
    driver.crash()?;
    assert_eq!(received(&mut driver)?, ["begin 0", "begin 0"]);
    Ok(())
}

#[test]
fn state_comes_back_from_changelogs() -> Result<()> {
    let mut driver = TestDriver::builder(both()).partitions(2).start()?;
    driver
        .message(&LEFT, "plum", &1)
        .partition(Partition::new(1))
        .send()?;
    assert!(matches!(driver.wipe_state(), Err(DriverError::Running)));
    driver.stop()?;
    driver.wipe_state()?;
    driver.start()?;
    let both = driver.processor_in::<Both>(Partition::new(1));
    assert_eq!(both.last.get("plum")?, Some(1));
    Ok(())
}

#[test]
fn topics_may_have_other_names_in_the_cluster() -> Result<()> {
    let app = both().bind(&LEFT, "prod.left").bind(&OUT, "prod.out");
    let mut driver = TestDriver::builder(app).start()?;
    driver.send(&LEFT, "left", &1)?;
    assert_eq!(received(&mut driver)?, ["begin 0", "left 1"]);
    driver.send(&LEFT, "left", &2)?;
    const BOUND: Topic<String, i64> = Topic::new("prod.out");
    assert_eq!(driver.receive(&BOUND)?, Some(("left".to_owned(), 2)));
    Ok(())
}

#[test]
fn topics_that_do_not_fit_are_refused_at_the_start() {
    let builder = TestDriver::builder(both()).partitions(2);
    let error = builder.partitions_of(&RIGHT, 3).start().unwrap_err();
    assert!(
        matches!(&error, DriverError::Failed(RunError::Check(_))),
        "{error}"
    );
    let error = error.to_string();
    assert!(
        error.contains("`left` has 2") && error.contains("`right` has 3"),
        "{error}"
    );
}

#[test]
fn an_application_without_processors_is_refused() {
    let error = TestDriver::builder(App::new("test")).start().unwrap_err();
    assert!(
        matches!(&error, DriverError::Failed(RunError::Check(_))),
        "{error}"
    );
}

/// Fails as often as it is told to.
#[processor]
struct Fails {
    on_start: bool,
    times: Arc<AtomicU32>,
}

#[processor]
impl Fails {
    #[on_start]
    fn begin(&mut self) -> Result<()> {
        if self.on_start {
            Err(Error::msg("no beginning"))
        } else {
            Ok(())
        }
    }

    #[on_message(LEFT)]
    fn left(&mut self, ctx: &mut Context<'_>, key: &str, n: i64) -> Result<()> {
        ctx.send(&OUT, key, &n)?;
        let left = self
            .times
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |times| times.checked_sub(1));
        if left.is_ok() {
            Err(Error::msg("not yet"))
        } else {
            Ok(())
        }
    }
}

fn fails(times: u32) -> App {
    let times = Arc::new(AtomicU32::new(times));
    App::new("test").processor_with(move || Fails {
        on_start: false,
        times: times.clone(),
    })
}

#[test]
fn a_failing_start_is_told_by_the_start() {
    let app = App::new("test").processor_with(|| Fails {
        on_start: true,
        times: Arc::default(),
    });
    let Err(DriverError::Failed(RunError::Task(failure))) = TestDriver::builder(app).start() else {
        panic!("it started");
    };
    assert_eq!((failure.processor.as_str(), failure.record), ("fails", None));
    assert!(failure.message.contains("no beginning"), "{}", failure.message);
}

#[test]
fn retries_wait_for_the_wall_clock() -> Result<()> {
    let retry = Retry {
        attempts: 3,
        backoff: Duration::from_secs(1),
        ..Retry::default()
    };
    let app = fails(2).configure(|settings| settings.on_processing_error = Policy::Retry(retry));
    let mut driver = TestDriver::builder(app).start()?;
    driver.send(&LEFT, "plum", &1)?;
    assert!(received(&mut driver)?.is_empty());
    driver.advance_wall_clock(Duration::from_millis(2_999))?; // 1 s after the first time, 2 s after the second
    assert!(received(&mut driver)?.is_empty());
    driver.advance_wall_clock(Duration::from_millis(1))?;
    assert_eq!(received(&mut driver)?, ["plum 1"]);
    Ok(())
}

#[test]
fn a_failed_application_goes_on_once_its_fault_is_mended() -> Result<()> {
    let mut driver = TestDriver::builder(fails(1)).start()?;
    driver.send(&LEFT, "plum", &1).unwrap_err();
    assert!(matches!(driver.commit(), Err(DriverError::Failed(_))));
    driver.restart()?;
    assert_eq!(received(&mut driver)?, ["plum 1"]);
    Ok(())
}

#[test]
#[should_panic(expected = "no processor `both`")]
fn looking_for_a_processor_that_is_not_there() {
    let mut driver = TestDriver::builder(fails(0)).start().unwrap();
    driver.processor::<Both>();
}

#[test]
#[should_panic(expected = "the application is stopped")]
fn looking_into_a_stopped_application() {
    let mut driver = TestDriver::builder(both()).start().unwrap();
    driver.stop().unwrap();
    driver.processor::<Both>();
}
