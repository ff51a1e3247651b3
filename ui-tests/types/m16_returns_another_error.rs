//! The error is an error.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

struct Plain;

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) -> Result<(), Plain> {
    //~^
        Err(Plain)
    }

    #[every("1s")]
    fn publish(&mut self) -> Result<()> {
        Err(Plain)?
        //~^
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
