//! Lifetimes may be written out; aliases may hide a reference.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const LINES: Topic<String, String> = Topic::new("lines");

type Id<'a> = &'a str;
type Ctx<'a, 'b> = &'a mut Context<'b>;

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn on<'c, 'r, 'k>(&mut self, _ctx: &'c mut Context<'r>, _word: &'k str, _n: i64)
    where
        'r: 'c,
    {
    }

    #[on_message(LINES)]
    async fn line<'l>(&mut self, _ctx: Ctx<'_, '_>, _key: Option<Id<'l>>, _line: Id<'l>) {}

    #[every("1s")]
    fn publish<'a, 'b: 'a>(&'a mut self, _ctx: Ctx<'a, 'b>, _now: Timestamp) {}
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}
