//! `this` is not `self`.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(this: &mut Totals, _word: &str, _n: i64) {
        //~^
        let _ = this;
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
