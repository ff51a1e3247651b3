//! A name that Kafka would refuse does not compile.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("no spaces");
//~^

fn main() {
    let _ = WORDS;
}
