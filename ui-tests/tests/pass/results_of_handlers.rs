//! Everything that a handler may return.

#![deny(warnings)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");
#[processor]
#[derive(Default)]
struct Totals {}

#[derive(Debug)]
struct Own;
impl std::fmt::Display for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("own")
    }
}
impl std::error::Error for Own {}

type Alias = std::result::Result<(), Own>;

#[processor]
impl Totals {
    #[on_message(WORDS)]
    #[allow(clippy::unused_unit)]
    fn unit(&mut self, _n: i64) -> () {}
    #[every("1s")]
    fn text(&mut self) -> Result<(), String> {
        Err(String::from("text"))
    }
    #[every("2s")]
    fn literal(&mut self) -> Result<(), &'static str> {
        Err("text")
    }
    #[every("3s")]
    fn boxed(&mut self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("text")?
    }
    #[every("4s")]
    fn alias(&mut self) -> Alias {
        Err(Own)
    }
    #[every("5s")]
    async fn by_question_mark(&mut self) -> Result<()> {
        self.alias()?;
        self.text()?;
        Err(Own)?;
        Err("text".into())
    }
    #[every("6s")]
    fn never(&mut self) -> ! {
        panic!("never called")
    }
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}
