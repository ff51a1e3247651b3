//! Parameters of a processor need not say that they are `'static`.

#![deny(warnings)]

use kproc::prelude::*;
use std::marker::PhantomData;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals<V> {
    values: PhantomData<fn() -> V>,
}

#[processor]
impl<V> Totals<V> {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {
        let _ = self.values;
    }
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals<u8>>();
}
