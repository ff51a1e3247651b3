//! A task may move to another thread, and its processor with it.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
struct Totals {
    pointer: *const u8,
}

#[processor]
impl Totals {
//~^
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {
        let _ = &self.pointer;
    }
}

fn main() {
    let make = || Totals { pointer: std::ptr::null() };
    let _ = kproc::App::new("app").processor_with(make);
}
