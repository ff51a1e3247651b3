//! A processor that lives in a function, beside one of the same name.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) {}
}

#[test]
fn builds() {
    const WORDS: Topic<u64, String> = Topic::new("other-words");

    #[processor(name = "inner")]
    #[derive(Default)]
    struct Totals {
        #[state]
        words: Table<u64, String>,
    }

    #[processor]
    impl Totals {
        #[on_message(WORDS)]
        fn keep(&mut self, key: u64, word: &str) -> Result<()> {
            Ok(self.words.put(&key, word)?)
        }
    }

    let _ = App::new("app").processor::<Totals>().processor::<outer::Outer>();
}

mod outer {
    pub(super) type Outer = super::Totals;
}
