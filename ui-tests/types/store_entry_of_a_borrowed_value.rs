//! What borrows has no entry.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

const WORDS: Topic<String, i64> = Topic::new("words");

#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Order<'a> {
    sku: &'a str,
}

#[processor]
#[derive(Default)]
struct Totals {
    #[state]
    orders: Table<String, Order<'static>>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        self.orders.entry(word)?;
        //~^
        let _ = (ctx, n);
        Ok(())
    }
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
