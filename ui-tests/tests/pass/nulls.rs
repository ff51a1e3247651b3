//! Every key and value may be null, and who wants to know takes an `Option`.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
const FLAGS: Topic<u64, bool> = Topic::new("flags");
const NOTHING: Topic<(), ()> = Topic::new("nothing");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn both(&mut self, ctx: &mut Context<'_>, word: Option<&str>, n: Option<i64>) -> Result<()> {
        ctx.send(&FLAGS, Null, Null)?;
        ctx.send(&FLAGS, Some(&3), None::<&bool>)?;
        Ok(ctx.send(&WORDS, word, n.as_ref())?)
    }
    #[on_message(FLAGS)]
    fn key_only(&mut self, _key: Option<u64>, _flag: bool) {}
    #[on_message(NOTHING)]
    fn void(&mut self, _nothing: ()) {}
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}
