//! The test driver's clocks, and timers by them.

use std::time::Duration;

use kproc::{
    Partition, Timer, TimerClock,
    prelude::*,
    testing::{Fired, TestDriver},
};

const IN: Topic<String, i64> = Topic::new("in");
const OUT: Topic<String, i64> = Topic::new("out");

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// How long after `since` each timer fired, in seconds.
fn times(fired: &[Fired], since: Timestamp) -> Vec<u64> {
    fired
        .iter()
        .map(|fired| fired.now.since(since).as_secs())
        .collect()
}

#[processor]
#[derive(Default)]
struct Wall {}

#[processor]
impl Wall {
    #[on_message(IN)]
    fn ignore(&mut self, _n: i64) {}

    #[every("10s")]
    fn tick(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        ctx.send(&OUT, "tick", &1)?;
        Ok(())
    }
}

#[processor]
#[derive(Default)]
struct Stream {}

#[processor]
impl Stream {
    #[on_message(IN)]
    fn ignore(&mut self, _n: i64) {}

    #[every("2s", stream_time)]
    fn tick(&mut self) {}
}

#[test]
fn time_stands_still_until_it_is_moved() -> Result<()> {
    let mut driver = TestDriver::new::<Wall>()?;
    let begin = driver.wall_time();
    for n in 0..100 {
        driver.send(&IN, "plum", &n)?;
    }
    assert_eq!(driver.wall_time(), begin);
    assert!(driver.fired::<Wall>().is_empty());
    driver.advance_wall_clock(seconds(10))?;
    assert_eq!(driver.wall_time().since(begin), seconds(10));
    assert_eq!(driver.receive_all(&OUT)?.len(), 1);
    Ok(())
}

#[test]
fn a_running_application_fires_at_each_due_time() -> Result<()> {
    let mut driver = TestDriver::new::<Wall>()?;
    let begin = driver.wall_time();
    driver.advance_wall_clock(seconds(35))?;
    let fired = driver.fired::<Wall>();
    assert_eq!(times(&fired, begin), [10, 20, 30]);
    assert!(fired.iter().all(|fired| fired.clock == TimerClock::Wall));
    // Told once.
    assert!(driver.fired::<Wall>().is_empty());
    Ok(())
}

#[test]
fn f02_a_wall_clock_timer_waits_one_interval_and_keeps_its_grid_over_a_pause() -> Result<()> {
    let mut driver = TestDriver::new::<Wall>()?;
    let begin = driver.wall_time();
    assert!(driver.fired::<Wall>().is_empty(), "fires at start");
    driver.advance_wall_clock(seconds(10))?;
    driver.suspend(seconds(25))?;
    driver.advance_wall_clock(seconds(15))?;
    assert_eq!(times(&driver.fired::<Wall>(), begin), [10, 35, 40, 50]);
    Ok(())
}

#[test]
fn f01_a_gap_in_stream_time_fires_once() -> Result<()> {
    let mut driver = TestDriver::new::<Stream>()?;
    let at = |driver: &mut TestDriver, seconds: i64| {
        let record = driver.message(&IN, "plum", &1);
        record.timestamp(Timestamp::from_millis(seconds * 1_000)).send()
    };
    at(&mut driver, 0)?;
    assert!(driver.fired::<Stream>().is_empty());
    at(&mut driver, 20)?;
    assert_eq!(times(&driver.fired::<Stream>(), Timestamp::EPOCH), [20]);
    at(&mut driver, 21)?;
    assert!(driver.fired::<Stream>().is_empty());
    at(&mut driver, 22)?;
    assert_eq!(times(&driver.fired::<Stream>(), Timestamp::EPOCH), [22]);
    Ok(())
}

#[test]
fn stream_time_moves_without_a_record_when_the_test_says_so() -> Result<()> {
    let mut driver = TestDriver::new::<Stream>()?;
    driver.advance_stream_time(seconds(60))?;
    assert!(
        driver.fired::<Stream>().is_empty(),
        "there is no stream time before the first record"
    );
    driver
        .message(&IN, "plum", &1)
        .timestamp(Timestamp::EPOCH)
        .send()?;
    driver.advance_stream_time(seconds(2))?;
    assert_eq!(times(&driver.fired::<Stream>(), Timestamp::EPOCH), [2]);
    // The wall clock has its own mind.
    driver.advance_wall_clock(seconds(60))?;
    assert!(driver.fired::<Stream>().is_empty());
    Ok(())
}

#[test]
fn each_partition_has_its_own_timers() -> Result<()> {
    let mut driver = TestDriver::builder(App::new("test").processor::<Stream>())
        .partitions(2)
        .start()?;
    driver
        .message(&IN, "plum", &1)
        .partition(Partition::new(1))
        .timestamp(Timestamp::EPOCH)
        .send()?;
    driver
        .message(&IN, "plum", &1)
        .partition(Partition::new(1))
        .timestamp(Timestamp::from_millis(2_000))
        .send()?;
    let fired = driver.fired::<Stream>();
    assert_eq!(
        fired
            .iter()
            .map(|fired| fired.partition.get())
            .collect::<Vec<_>>(),
        [1]
    );
    Ok(())
}

/// Makes a timer for each record, which fires once.
#[processor]
#[derive(Default)]
struct Later {
    rung: Vec<TimerId>,
}

#[processor]
impl Later {
    #[on_message(IN)]
    fn later(&mut self, ctx: &mut Context<'_>, n: i64) -> Result<()> {
        let after = Duration::from_secs(n.unsigned_abs());
        ctx.schedule(after, TimerClock::Wall)?;
        Ok(())
    }

    #[on_schedule]
    fn ring(&mut self, ctx: &mut Context<'_>, timer: TimerId) {
        ctx.cancel(timer);
        self.rung.push(timer);
    }
}

#[test]
fn scheduled_timers_are_seen_and_end_with_the_task() -> Result<()> {
    let mut driver = TestDriver::new::<Later>()?;
    let begin = driver.wall_time();
    driver.send(&IN, "plum", &5)?;
    driver.send(&IN, "plum", &3)?;
    driver.advance_wall_clock(seconds(60))?;
    let fired = driver.fired::<Later>();
    assert_eq!(times(&fired, begin), [3, 5]);
    let rung = driver.processor::<Later>().rung.clone();
    assert_eq!(
        fired.iter().map(|fired| fired.timer).collect::<Vec<_>>(),
        rung.into_iter().map(Timer::Scheduled).collect::<Vec<_>>()
    );

    driver.send(&IN, "plum", &5)?;
    driver.restart()?;
    driver.advance_wall_clock(seconds(60))?;
    assert!(driver.fired::<Later>().is_empty());
    Ok(())
}

#[test]
fn a_long_time_passes_quickly() -> Result<()> {
    let mut driver = TestDriver::new::<Wall>()?;
    driver.advance_wall_clock(seconds(24 * 3600))?;
    assert_eq!(driver.fired::<Wall>().len(), 24 * 360);
    assert_eq!(driver.receive_all(&OUT)?.len(), 24 * 360);
    Ok(())
}
