//! A type without a codec.

use kproc::prelude::*;

#[derive(Clone)]
struct Plain;

const WORDS: Topic<String, Plain> = Topic::new("words");
//~^
const MAYBE: Topic<String, Option<i64>> = Topic::new("maybe");
//~^

fn main() {
    let _ = (WORDS, MAYBE);
}
