//! `Json` takes what serde knows.

use kproc::prelude::*;

struct Plain;

const WORDS: Topic<String, Json<Plain>> = Topic::new("words");
//~^

fn main() {
    let _ = WORDS;
}
