//! The test driver, as users of the crate use it: records in and out, stores, partitions, seeds.

use std::time::Duration;

use kproc::{
    Partition,
    prelude::*,
    testing::{DriverError, TestDriver},
};

const WORDS: Topic<String, i64> = Topic::new("words");
const TOTALS: Topic<String, i64> = Topic::new("totals");

/// Adds up, and publishes every total at once.
#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
    /// Records since the task began.
    seen: u32,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        let mut total = self.totals.entry(word)?.or_default();
        *total += n;
        self.seen += 1;
        ctx.send(&TOTALS, word, &*total)?;
        Ok(())
    }
}

fn plum(n: i64) -> (String, i64) {
    ("plum".to_owned(), n)
}

#[test]
fn a_record_is_processed_when_send_returns() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    driver.send(&WORDS, "plum", &3)?;
    assert_eq!(driver.processor::<Totals>().totals.get("plum")?, Some(3));
    assert_eq!(driver.receive(&TOTALS)?, Some(plum(3)));
    assert_eq!(driver.receive(&TOTALS)?, None);
    driver.send(&WORDS, "plum", &4)?;
    assert_eq!(driver.receive(&TOTALS)?, Some(plum(7)));
    Ok(())
}

#[test]
fn looking_into_a_processor_changes_nothing() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    for n in 1..=5 {
        driver.send(&WORDS, "plum", &n)?;
        assert_eq!(driver.processor::<Totals>().seen, u32::try_from(n)?);
        assert_eq!(driver.processor::<Totals>().seen, u32::try_from(n)?);
    }
    assert_eq!(driver.receive_all(&TOTALS)?.len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_driver_works_inside_a_tokio_test() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    driver.send(&WORDS, "plum", &3)?;
    tokio::task::yield_now().await;
    assert_eq!(driver.receive(&TOTALS)?, Some(plum(3)));
    Ok(())
}

#[test]
fn what_waits_together_is_processed_together() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    for n in 1..=3 {
        driver.message(&WORDS, "plum", &n).enqueue()?;
    }
    assert_eq!(driver.receive_all(&TOTALS)?, [1, 3, 6].map(plum));
    Ok(())
}

#[test]
fn partitions_have_tasks_and_stores_of_their_own() -> Result<()> {
    let mut driver = TestDriver::builder(App::new("test").processor::<Totals>())
        .partitions(3)
        .start()?;
    for partition in 0..3 {
        let n = i64::from(partition) + 1;
        driver
            .message(&WORDS, "plum", &n)
            .partition(Partition::new(partition))
            .send()?;
    }
    for partition in 0..3 {
        let totals = &driver.processor_in::<Totals>(Partition::new(partition)).totals;
        assert_eq!(totals.get("plum")?, Some(i64::from(partition) + 1));
    }
    // By the key, whatever the partition it was read from.
    let received = [(); 3].map(|()| driver.receive_record(&TOTALS).unwrap().unwrap());
    assert!(
        received
            .iter()
            .all(|record| record.partition() == received[0].partition())
    );
    Ok(())
}

#[test]
fn keys_spread_over_partitions_as_in_kafka() -> Result<()> {
    let mut driver = TestDriver::builder(App::new("test").processor::<Totals>())
        .partitions(4)
        .start()?;
    for n in 0..40_i64 {
        driver.send(&WORDS, format!("word {n}").as_str(), &n)?;
    }
    let seen: Vec<u32> = (0..4)
        .map(|partition| driver.processor_in::<Totals>(Partition::new(partition)).seen)
        .collect();
    assert_eq!(seen.iter().sum::<u32>(), 40);
    assert!(seen.iter().all(|seen| *seen > 0), "{seen:?}");
    Ok(())
}

#[test]
fn received_records_show_null_and_refuse_to_own_it() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    // Nobody reads `totals`, so the test may write there, too.
    driver.send(&TOTALS, Null, Null)?;
    driver.send(&TOTALS, "", &0)?;
    driver.raw(&TOTALS, Some(b""), Some(b"")).send()?;

    let error = driver.receive(&TOTALS).unwrap_err();
    assert!(matches!(error, DriverError::Null { part: "key", .. }), "{error}");

    let record = driver.receive_record(&TOTALS)?.expect("a record");
    assert_eq!((record.key()?, record.value()?), (Some(""), Some(0)));

    let record = driver.receive_record(&TOTALS)?.expect("a record");
    assert_eq!(
        (record.key_bytes(), record.value_bytes()),
        (Some(&b""[..]), Some(&b""[..]))
    );
    let error = record.value().unwrap_err().to_string();
    assert!(error.contains("totals[0] offset 2"), "{error}");
    Ok(())
}

#[test]
fn headers_arrive_in_order_null_and_empty() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    driver
        .message(&TOTALS, "plum", &1)
        .null_header("a")
        .header("a", "")
        .header("a", "x")
        .header("B", "y")
        .send()?;
    let record = driver.receive_record(&TOTALS)?.expect("a record");
    let headers: Vec<_> = record.headers().iter().collect();
    let expected: [(&[u8], Option<&[u8]>); 4] = [
        (b"a", None),
        (b"a", Some(b"")),
        (b"a", Some(b"x")),
        (b"B", Some(b"y")),
    ];
    assert_eq!(headers, expected);
    Ok(())
}

#[test]
fn a_record_has_the_drivers_time_unless_told_otherwise() -> Result<()> {
    let mut driver = TestDriver::new::<Totals>()?;
    let stamp = |driver: &mut TestDriver| driver.receive_record(&TOTALS).unwrap().unwrap().timestamp();

    let now = driver.wall_time();
    driver.send(&WORDS, "plum", &1)?;
    assert_eq!(stamp(&mut driver), Some(now));

    driver.set_timestamp(Timestamp::from_millis(5));
    driver.send(&WORDS, "plum", &1)?;
    assert_eq!(stamp(&mut driver), Some(Timestamp::from_millis(5)));

    driver
        .message(&WORDS, "plum", &1)
        .timestamp(Timestamp::EPOCH)
        .send()?;
    assert_eq!(stamp(&mut driver), Some(Timestamp::EPOCH));

    driver.set_timestamp(None);
    driver.advance_wall_clock(Duration::from_secs(3))?;
    driver.send(&WORDS, "plum", &1)?;
    assert_eq!(
        stamp(&mut driver).map(|time| time.since(now)),
        Some(Duration::from_secs(3))
    );
    Ok(())
}

#[test]
fn same_seed_same_run() -> Result<()> {
    let run = |seed: u64| -> Result<Vec<(u32, String)>> {
        let mut driver = TestDriver::builder(App::new("test").processor::<Totals>())
            .partitions(4)
            .seed(seed)
            .start()?;
        for n in 0..200_i64 {
            driver
                .message(&WORDS, format!("word {}", n % 50).as_str(), &n)
                .enqueue()?;
        }
        let mut order = Vec::new();
        while let Some(record) = driver.receive_record(&TOTALS)? {
            order.push((record.partition().get(), format!("{record:?}")));
        }
        Ok(order)
    };
    let first = run(1)?;
    assert_eq!(first.len(), 200);
    assert_eq!(first, run(1)?);
    // Another seed may mix the partitions differently, but no partition's own answers.
    let sorted = |mut run: Vec<(u32, String)>| {
        run.sort();
        run
    };
    assert_eq!(sorted(first), sorted(run(2)?));
    Ok(())
}
