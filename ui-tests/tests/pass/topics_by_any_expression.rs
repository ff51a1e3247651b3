//! A topic is an expression of the right type.

#![deny(warnings)]
#![allow(unused_qualifications)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
static STATIC: Topic<String, i64> = Topic::new("static");

mod topics {
    use super::Topic;
    pub(super) const MODULE: Topic<String, i64> = Topic::new("module");
}

fn made() -> &'static Topic<String, i64> {
    &STATIC
}

#[processor]
#[derive(Default)]
struct Totals {}

#[processor(sends(Self::OUTPUT, self::topics::MODULE, STATIC, *made(),), crate = ::kproc)]
impl Totals {
    const OUTPUT: Topic<String, i64> = Topic::new("output");

    #[on_message(WORDS)]
    fn plain(&mut self, _n: i64) {}
    #[on_message(topics::MODULE, start = latest,)]
    fn module(&mut self, _n: i64) {}
    #[on_message(Self::OUTPUT)]
    fn associated(&mut self, _n: i64) {}
    #[on_message(STATIC)]
    fn fixed(&mut self, _n: i64) {}
    #[on_message(Topic::<String, i64>::new("inline"))]
    fn inline(&mut self, _n: i64) {}
    #[on_message(*made())]
    fn called(&mut self, _n: i64) {}
}

#[test]
fn builds() {
    let declared = crate::Declared::by(&mut Totals::default());
    assert_eq!((declared.inputs.len(), declared.outputs), (6, 4));
}
