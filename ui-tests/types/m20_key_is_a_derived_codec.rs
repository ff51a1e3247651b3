//! A key of a store sorts as its values do.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

const WORDS: Topic<String, i64> = Topic::new("words");

#[derive(Serialize, Deserialize, Codec)]
#[codec(json)]
struct Id {
    number: u64,
}

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<Id, i64>,
    //~^
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
