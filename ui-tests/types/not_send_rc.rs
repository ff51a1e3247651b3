//! A task may move to another thread, and its processor with it.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    shared: std::rc::Rc<u64>,
}

#[processor]
impl Totals {
//~^
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {
        let _ = &self.shared;
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
