//! Sync and async side by side; a handler's future need not be `Send`.

#![deny(warnings)]

use kproc::{TimerClock, prelude::*};
use std::{rc::Rc, time::Duration};

const WORDS: Topic<String, i64> = Topic::new("words");
const LINES: Topic<String, String> = Topic::new("lines");

#[derive(Debug)]
struct OwnError;
impl std::fmt::Display for OwnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("own")
    }
}
impl std::error::Error for OwnError {}

#[processor]
#[derive(Default)]
struct Totals {
    seen: u64,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    async fn add(&mut self, ctx: &mut Context<'_>, word: &str, n: i64) -> Result<()> {
        let shared = Rc::new(word);
        std::future::ready(()).await;
        self.seen += 1;
        ctx.send(&WORDS, *shared, &n)?;
        Ok(())
    }

    #[on_message(LINES)]
    fn line(&mut self, _line: Option<&str>) -> Result<(), OwnError> {
        Err(OwnError)
    }

    #[every("1m", stream_time)]
    async fn tick(&mut self, now: Timestamp) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{now}"))?
    }

    #[every("1d")]
    fn end(&mut self) -> ! {
        panic!("the end")
    }

    #[on_start]
    async fn begin(&mut self, _ctx: &mut Context<'_>) {}

    #[on_schedule]
    async fn alarm(&mut self, ctx: &mut Context<'_>, timer: TimerId, now: Timestamp) -> Result<()> {
        ctx.send(&WORDS, &format!("{timer:?}"), &now.as_millis())?;
        Ok(())
    }
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Totals>();
}

#[test]
fn timers_are_declared() {
    let declared = crate::Declared::by(&mut Totals::default());
    let minute = (0, Duration::from_secs(60), TimerClock::Stream);
    let day = (1, Duration::from_secs(86_400), TimerClock::Wall);
    assert_eq!(declared.timers, [minute, day]);
    assert!(declared.scheduled);
}
