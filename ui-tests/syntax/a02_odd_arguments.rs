//! No tokens make a macro panic.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor(r#async, -1, (), 1.5, a::b::<C>, name = 3, name, crate = "no path", crate)]
//~^
//~^^
//~^^^
//~^^^^
//~^^^^^
//~^^^^^^
//~^^^^^^^
//~^^^^^^^^
//~^^^^^^^^^
#[derive(Default)]
struct Totals {
    #[state(,)]
    //~^
    a: Table<String, i64>,
    #[state(name = "b",, changelog = maybe)]
    //~^
    //~^^
    b: Table<String, i64>,
    #[state = "c"]
    //~^
    c: Table<String, i64>,
    #[state(name = )]
    //~^
    d: Table<String, i64>,
}

#[processor(sends, sends(a b))]
//~^
//~^^
impl Totals {
    #[on_message]
    //~^
    fn a(&mut self, _n: i64) {}

    #[on_message()]
    //~^
    fn b(&mut self, _n: i64) {}

    #[on_message(WORDS WORDS)]
    //~^
    fn c(&mut self, _n: i64) {}

    #[on_message(start = latest)]
    //~^
    fn d(&mut self, _n: i64) {}

    #[on_message(WORDS, start = lastest)]
    //~^
    fn e(&mut self, _n: i64) {}

    #[on_message(+)]
    //~^
    fn f(&mut self, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
