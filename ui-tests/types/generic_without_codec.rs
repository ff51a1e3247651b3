//! A generic processor needs a codec for what its topic holds.

use kproc::prelude::*;
use std::marker::PhantomData;

#[processor]
struct Keep<V> {
    #[state]
    last: Table<String, V>,
    values: PhantomData<fn() -> V>,
}

#[processor]
impl<V: 'static> Keep<V> {
//~^
    #[on_message(kproc::Topic::<String, i64>::new("words"))]
    fn add(&mut self, _n: i64) {
        let _ = (&self.last, self.values);
    }
}

fn main() {}
