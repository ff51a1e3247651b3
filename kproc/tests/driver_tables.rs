//! Handlers that write to a great part of two tables at once.

use std::time::Duration;

use kproc::{
    Policy, Retry,
    prelude::*,
    testing::{DriverError, TestDriver},
};

const ORDERS: Topic<String, String> = Topic::new("orders");
const LENGTHS: Topic<String, i64> = Topic::new("lengths");

/// More than are written to LMDB in one transaction.
const MANY: u32 = 30_000;

#[processor]
#[derive(Default)]
struct Large {
    #[state]
    pairs: Table<(String, u32), i64>,
    #[state]
    numbers: Table<u32, i64>,
}

#[processor]
impl Large {
    #[on_message(ORDERS)]
    fn obey(&mut self, ctx: &mut Context<'_>, order: &str) -> Result<()> {
        match order {
            "fill" => {
                for number in 0..MANY {
                    self.pairs.put(&("a", number), &1)?;
                    self.numbers.put(&number, &1)?;
                }
            }
            "thin out" => {
                self.pairs.retain(|(_, number), _| number % 3 != 0)?;
                self.numbers.retain(|number, _| number % 3 != 0)?;
            }
            "empty and fail" => {
                self.pairs.retain(|_, _| false)?;
                self.numbers.retain(|number, _| number % 3 == 1)?;
                return Err(kproc::Error::msg("all of it is undone"));
            }
            "add and panic" => {
                for number in (0..MANY).rev() {
                    self.pairs.put(&("b", number), &2)?;
                    if number % 2 == 0 {
                        self.pairs.delete(&("b", number))?;
                    }
                }
                assert_eq!(self.pairs.prefix(&("b",)).count(), MANY as usize / 2);
                panic!("all of it is undone");
            }
            _ => {}
        }
        ctx.send(&LENGTHS, "pairs", &i64::try_from(self.pairs.len()?)?)?;
        ctx.send(&LENGTHS, "a", &i64::try_from(self.pairs.prefix(&("a",)).count())?)?;
        ctx.send(
            &LENGTHS,
            "some",
            &i64::try_from(self.numbers.range(100..400).count())?,
        )?;
        Ok(())
    }
}

/// What there is after an order: pairs by `len` and by iterating, numbers in a range.
fn after(driver: &mut TestDriver, order: &str) -> std::result::Result<Vec<i64>, DriverError> {
    driver.send(&ORDERS, "plum", order)?;
    // For what is tried again.
    driver.advance_wall_clock(Duration::from_secs(3))?;
    let lengths = driver.receive_all(&LENGTHS)?;
    Ok(lengths.into_iter().map(|(_, length)| length).collect())
}

#[test]
fn d02_b03_large_changes_of_two_tables_are_committed_and_undone_whole() -> Result<()> {
    let app = App::new("test").processor::<Large>().configure(|settings| {
        settings.on_processing_error = Policy::Skip;
        settings.on_panic = Policy::Retry(Retry {
            attempts: 1,
            then_skip: true,
            ..Retry::default()
        });
    });
    let mut driver = TestDriver::builder(app).start()?;
    assert_eq!(after(&mut driver, "fill")?, [30_000, 30_000, 300]);
    let thin = [20_000, 20_000, 200];
    assert_eq!(after(&mut driver, "thin out")?, thin);
    for order in ["empty and fail", "add and panic"] {
        assert!(after(&mut driver, order)?.is_empty());
        assert_eq!(after(&mut driver, "look")?, thin, "{order}");
    }
    driver.restart()?;
    assert_eq!(after(&mut driver, "look")?, thin);
    // From the changelogs, with what was deleted.
    driver.stop()?;
    driver.wipe_state()?;
    driver.start()?;
    assert_eq!(after(&mut driver, "look")?, thin);
    Ok(())
}
