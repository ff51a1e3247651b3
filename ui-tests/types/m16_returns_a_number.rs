//! A handler returns `()` or a `Result`.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Table<String, i64>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, n: i64) -> u32 {
    //~^
        n as u32
    }

    #[every("1s")]
    fn publish(&mut self) -> Result<u32> {
    //~^
        Ok(3)
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
