//! Names come from the struct, or are given.

#![deny(warnings)]

use kproc::{Processor, prelude::*};

const WORDS: Topic<String, i64> = Topic::new("words");
macro_rules! named {
    ($name:ident) => {
        #[processor]
        impl $name {
            #[on_message(WORDS)]
            fn add(&mut self, _n: i64) {}
        }
    };
}

#[processor]
#[derive(Default)]
struct HourlyDelays {}
named!(HourlyDelays);

#[processor(name = "by-hand")]
#[derive(Default)]
struct Given {}
named!(Given);

#[processor(name = r"raw.text_1", crate = "kproc")]
#[derive(Default)]
struct RawText {}
named!(RawText);

#[processor()]
#[derive(Default)]
#[allow(non_camel_case_types)]
struct snake_case {}
named!(snake_case);

#[test]
fn builds() {
    assert_eq!(HourlyDelays::name(), "hourly-delays");
    assert_eq!(Given::name(), "by-hand");
    assert_eq!(RawText::name(), "raw.text_1");
    assert_eq!(snake_case::name(), "snake-case");
}
