//! A processor that comes out of a `macro_rules!` macro.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

macro_rules! counter {
    ($name:ident, $topic:expr, $value:ty, $period:literal) => {
        #[processor]
        #[derive(Default)]
        struct $name {
            #[state]
            counts: Table<String, $value>,
            seen: u64,
        }

        #[processor]
        impl $name {
            #[on_message($topic)]
            fn count(&mut self, ctx: &mut Context<'_>, key: &str, value: $value) -> Result<()> {
                let _ = &self.counts;
                self.seen += 1;
                Ok(ctx.send(&$topic, key, &value)?)
            }

            #[every($period)]
            fn publish(&mut self, _now: Timestamp) {}
        }
    };
}

counter!(Counter, WORDS, i64, "1s");
counter!(Other, WORDS, i64, "5m");

#[test]
fn builds() {
    let _ = App::new("app").processor::<Counter>().processor::<Other>();
}
