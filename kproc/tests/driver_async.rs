//! Handlers that wait, under the test driver.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use kproc::{
    prelude::*,
    testing::{DriverError, TestDriver},
};

const IN: Topic<String, i64> = Topic::new("in");
const OUT: Topic<String, i64> = Topic::new("out");

/// Asks somebody outside.
#[processor]
struct Asks {
    milliseconds: u64,
    asked: Arc<AtomicU32>,
}

#[processor]
impl Asks {
    #[on_message(IN)]
    async fn ask(&mut self, ctx: &mut Context<'_>, key: &str, n: i64) -> Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(self.milliseconds)).await;
        let answer = tokio::task::spawn_blocking(move || n + 1).await?;
        ctx.send(&OUT, key, &answer)?;
        Ok(())
    }

    #[every("1s")]
    async fn tick(&mut self) {
        tokio::time::sleep(Duration::from_millis(self.milliseconds)).await;
    }
}

fn app(milliseconds: u64) -> (App, Arc<AtomicU32>) {
    let asked: Arc<AtomicU32> = Arc::default();
    let of_factory = Arc::clone(&asked);
    let make = move || Asks {
        milliseconds,
        asked: of_factory.clone(),
    };
    (App::new("test").processor_with(make), asked)
}

fn asks_and_ticks(mut driver: TestDriver) -> Result<()> {
    let begin = driver.wall_time();
    for n in 0..3 {
        driver.message(&IN, "plum", &n).enqueue()?;
    }
    assert_eq!(
        driver.receive_all(&OUT)?,
        [1, 2, 3].map(|n| ("plum".to_owned(), n))
    );
    assert_eq!(
        driver.wall_time(),
        begin,
        "virtual time passes while a handler waits"
    );
    driver.advance_wall_clock(Duration::from_secs(3))?;
    let fired = driver.fired::<Asks>();
    let seconds: Vec<u64> = fired
        .iter()
        .map(|fired| fired.now.since(begin).as_secs())
        .collect();
    assert_eq!(seconds, [1, 2, 3]);
    Ok(())
}

#[test]
fn a_handler_that_waits_for_the_outside_is_waited_for() -> Result<()> {
    asks_and_ticks(TestDriver::builder(app(2).0).start()?)
}

#[tokio::test]
async fn also_inside_a_runtime() -> Result<()> {
    asks_and_ticks(TestDriver::builder(app(2).0).start()?)
}

#[test]
fn patience_has_an_end() -> Result<()> {
    let (app, asked) = app(3_600_000);
    let mut driver = TestDriver::builder(app)
        .patience(Duration::from_millis(20))
        .start()?;
    let error = driver.send(&IN, "plum", &1).unwrap_err();
    assert!(matches!(error, DriverError::Waiting(_)), "{error}");
    assert!(matches!(driver.commit(), Err(DriverError::Waiting(_))));
    // As `kill -9` does: nobody waits for the handler.
    assert!(matches!(driver.crash(), Err(DriverError::Waiting(_))));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    // A stop abandons it after the deadline, and says so.
    let error = driver.stop().unwrap_err().to_string();
    assert!(error.contains("still waiting"), "{error}");
    Ok(())
}
