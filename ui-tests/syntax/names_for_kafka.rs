//! Names that Kafka would refuse.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Zähler {
    #[state]
    größe: Table<String, i64>,
    #[state(name = "no spaces")]
    b: Table<String, i64>,
    #[state(name = "")]
    c: Table<String, i64>,
}

#[processor]
impl Zähler {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

#[processor(name = "a/b")]
struct Other {}

#[processor]
impl Other {
    #[on_message(WORDS)]
    fn add(&mut self, _word: &str, _n: i64) {}
}

fn main() {
    let _ = kproc::App::new("app").processor::<Zähler>().processor_with(|| Other {});
}
