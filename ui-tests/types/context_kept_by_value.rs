//! The context lives for the call only, and is lent.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {
    ctx: Option<Context<'static>>,
    //~^
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, _n: i64) {
        ctx.commit();
        self.ctx = None;
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
