//! The context lives for the call only, also if the struct has a lifetime for it.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals<'a> {
    ctx: Option<&'a mut Context<'a>>,
    //~^
}

#[processor]
impl<'a> Totals<'a> {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, _n: i64) {
        self.ctx = Some(ctx);
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
