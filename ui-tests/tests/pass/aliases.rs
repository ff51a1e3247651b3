//! Types decide, and not what they are called.

#![deny(warnings)]

use kproc::prelude::*;

type Words = Topic<String, i64>;
type Totals64 = Table<String, i64>;
type Ctx<'a, 'b> = &'a mut Context<'b>;
type Maybe<T> = Option<T>;
type Done = Result<()>;

const WORDS: Words = Words::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    totals: Totals64,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _: Ctx<'_, '_>, word: Maybe<&str>, n: Maybe<i64>) -> Done {
        if let (Some(word), Some(n)) = (word, n) {
            self.totals.put(word, &n)?;
        }
        Ok(())
    }
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}
