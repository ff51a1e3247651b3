//! A generic processor needs a codec for what its table holds.

use kproc::prelude::*;
use std::marker::PhantomData;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
struct Keep<V> {
    #[state]
    last: Table<String, V>,
    values: PhantomData<fn() -> V>,
}

#[processor]
impl<V: 'static> Keep<V> {
//~^
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {
        let _ = (&self.last, self.values);
    }
}

fn main() {}
