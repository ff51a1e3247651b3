//! `?` takes errors.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

struct Plain;

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) -> Result<()> {
        Err(Plain)?
        //~^
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
