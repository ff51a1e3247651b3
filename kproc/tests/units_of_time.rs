//! Periods in `#[every]` are read at compile time, settings at run time, by two crates: one table of units.

use std::{borrow::Cow, time::Duration};

use kproc::{
    Processor, Topic,
    config::parse_duration,
    prelude::*,
    processor::{Declare, InputSpec, OutputSpec, Store, StoreOptions, TimerSpec},
};

const TICKS: Topic<String, i64> = Topic::new("ticks");

/// A processor with these timers, and the texts of their periods.
macro_rules! clocks {
    ($($method:ident $period:literal),+) => {
        #[processor]
        #[derive(Default)]
        struct Clocks {}

        #[processor]
        impl Clocks {
            #[on_message(TICKS)]
            fn tick(&mut self, _n: i64) {}

            $(#[every($period)]
            fn $method(&mut self) {})+
        }

        const PERIODS: &[&str] = &[$($period),+];
    };
}

clocks!(millis "1ms", seconds "1s", minutes "5m", hours "2h", days "1d", longest "106751991167d");

#[derive(Default)]
struct Periods(Vec<Duration>);

impl Declare for Periods {
    fn add_input(&mut self, _: InputSpec) {}
    fn add_output(&mut self, _: OutputSpec) {}
    fn add_timer(&mut self, timer: TimerSpec) {
        self.0.push(timer.period);
    }
    fn add_store(&mut self, _: Cow<'static, str>, _: StoreOptions, _: &mut dyn Store) {}
    fn handles_scheduled(&mut self) {}
}

#[test]
fn f07_f10_a_period_means_in_a_setting_what_it_means_in_an_attribute() {
    let mut declared = Periods::default();
    Clocks::default().declare(&mut declared);
    let read: Vec<Duration> = PERIODS.iter().map(|text| parse_duration(text).unwrap()).collect();
    assert_eq!(declared.0, read);
}
