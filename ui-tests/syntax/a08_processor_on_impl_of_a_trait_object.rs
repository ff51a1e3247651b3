//! A trait object is no struct.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

trait Adds {}

#[processor]
impl dyn Adds {
    //~^
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {}
}

fn main() {
    let _ = (Totals::default(), WORDS);
}
