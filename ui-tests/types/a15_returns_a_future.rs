//! A handler that shall be awaited is an `async fn`.

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

#[processor]
#[derive(Default)]
struct Totals {}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, _n: i64) -> impl Future<Output = Result<()>> { std::future::ready(Ok(())) }
    //~^
}

fn main() {
    let _ = kproc::App::new("app").processor::<Totals>();
}
