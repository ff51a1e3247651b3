//! A name that Kafka would refuse does not compile.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("..");
//~^

fn main() {
    let _ = WORDS;
}
