//! The context lives for the call only: a lifetime would not help.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
struct Totals {
    ctx: &mut Context,
    //~^
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, _n: i64) {
        self.ctx = ctx;
        self.ctx.commit();
    }
}

fn main() {
    let _ = kproc::App::new("app");
}
