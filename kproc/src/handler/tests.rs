//! Processors made by the macros, run by the task engine: what their methods are given, and when.

use std::time::Duration;

use crate::{
    TimerClock,
    engine::rig::{Fed, Rig, START},
    prelude::*,
};

const WORDS: Topic<String, i64> = Topic::new("words");
const LINES: Topic<i32, String> = Topic::new("lines");
const ALARMS: Topic<(), i64> = Topic::new("alarms");
const TOTALS: Topic<String, i64> = Topic::new("totals");

/// Notes what its methods were given.
#[processor(crate = crate)]
#[derive(Default)]
struct Notes {
    notes: Vec<String>,
}

#[processor(crate = crate, sends(TOTALS))]
impl Notes {
    #[on_message(WORDS)]
    async fn word(&mut self, ctx: &mut Context<'_>, word: Option<&str>, n: Option<i64>) -> Result<()> {
        self.notes.push(format!("word {word:?} {n:?}"));
        std::future::ready(()).await;
        ctx.send(&TOTALS, word, n.as_ref())?;
        Ok(())
    }

    #[on_message(LINES)]
    fn line(&mut self, line: String) {
        self.notes.push(format!("line {line}"));
    }

    #[on_message(ALARMS)]
    fn alarm(&mut self, ctx: &mut Context<'_>, millis: i64) -> Result<()> {
        ctx.schedule(Duration::from_millis(millis.unsigned_abs()), TimerClock::Wall)?;
        Ok(())
    }

    #[every("1s")]
    fn second(&mut self) {
        self.notes.push("second".to_owned());
    }

    #[every("2s")]
    async fn two(&mut self, now: Timestamp) {
        self.notes.push(format!("two {}", now.since(START).as_millis()));
    }

    #[every("1m", stream_time)]
    fn minute(&mut self, ctx: &mut Context<'_>, now: Timestamp) {
        self.notes
            .push(format!("minute {now} {}", ctx.partition().is_none()));
    }

    #[on_schedule]
    fn fired(&mut self, ctx: &mut Context<'_>, timer: TimerId, now: Timestamp) {
        self.notes.push(format!("fired {}", now.since(START).as_millis()));
        ctx.cancel(timer);
    }

    #[on_start]
    fn begin(&mut self) {
        self.notes.push("begin".to_owned());
    }

    #[on_stop]
    async fn end(&mut self, _ctx: &mut Context<'_>) -> Result<(), std::fmt::Error> {
        self.notes.push("end".to_owned());
        Ok(())
    }
}

impl Notes {
    fn taken(rig: &Rig) -> &[String] {
        &rig.processor::<Self>().notes
    }
}

fn key_value<'a>(key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Fed<'a> {
    Fed {
        key,
        value,
        timestamp: Some(1_000),
        ..Fed::default()
    }
}

#[test]
fn methods_get_what_they_ask_for() {
    let mut rig = Rig::new::<Notes>();
    rig.feed(
        "words",
        &[
            key_value(Some(b"plum"), Some(&7_i64.to_be_bytes())),
            key_value(None, None),
            key_value(Some(b""), None),
        ],
    );
    rig.work();
    rig.feed("lines", &[key_value(None, Some(b"a line"))]);
    rig.work();
    let expected = [
        "begin",
        "word Some(\"plum\") Some(7)",
        "word None None",
        "word Some(\"\") None",
        "line a line",
    ];
    assert_eq!(Notes::taken(&rig), expected);
    let sent: Vec<_> = rig
        .sent()
        .into_iter()
        .map(|sent| (sent.key, sent.value))
        .collect();
    let plum = (Some(b"plum".to_vec()), Some(7_i64.to_be_bytes().to_vec()));
    assert_eq!(sent, [plum, (None, None), (Some(Vec::new()), None)]);
}

#[test]
fn timers_reach_their_methods() {
    let mut rig = Rig::new::<Notes>();
    rig.feed("alarms", &[key_value(None, Some(&1_500_i64.to_be_bytes()))]);
    rig.work();
    for _ in 0..2 {
        rig.advance(1_000);
        rig.work();
    }
    let at = |timestamp| Fed {
        timestamp: Some(timestamp),
        value: Some(b"late"),
        ..Fed::default()
    };
    rig.feed("lines", &[at(61_000)]);
    rig.work();
    rig.stop().unwrap_or_else(|failure| panic!("{failure}"));
    let mut notes: Vec<_> = Notes::taken(&rig).iter().map(String::as_str).collect();
    // Which of several that are due at once comes first is the engine's affair.
    notes[2..5].sort_unstable();
    let expected = [
        "begin",
        "second",
        "fired 2000",
        "second",
        "two 2000",
        "line late",
        "minute 1970-01-01T00:01:01Z true",
        "end",
    ];
    assert_eq!(notes, expected);
}

/// Takes nothing but what is there.
#[processor(crate = crate)]
#[derive(Default)]
struct Strict {
    #[state]
    totals: Table<String, i64>,
}

#[processor(crate = crate)]
impl Strict {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        *self.totals.entry(word)?.or_default() += n;
        Ok(())
    }
}

/// B: null, empty and unreadable are three things, and none of them is a default value.
#[test]
fn what_does_not_fit_is_an_error_of_the_record() {
    let cases: [(Fed<'_>, &str); 4] = [
        (
            key_value(None, Some(&[0; 8])),
            "the record's key is null, and the handler takes it as `&str`: an `Option` of that takes nulls too",
        ),
        (
            key_value(Some(b"plum"), None),
            "the record's value is null, and the handler takes it as `i64`: an `Option` of that takes nulls too",
        ),
        (
            key_value(Some(b"plum"), Some(b"")),
            "the record's value cannot be read: i64: wants 8 bytes, got 0 bytes",
        ),
        (
            key_value(Some(b"\xff"), Some(&[0; 8])),
            "the record's key cannot be read: string: ",
        ),
    ];
    for (record, message) in cases {
        let mut rig = Rig::new::<Strict>();
        rig.feed("words", &[record]);
        let Err(failure) = rig.run() else {
            panic!("{record:?} was taken")
        };
        assert_eq!(failure.error.kind(), crate::ErrorKind::Deserialization);
        assert!(
            failure.error.to_string().starts_with(message),
            "{}",
            failure.error
        );
    }
}

#[test]
fn stores_are_open_and_kept() {
    let mut rig = Rig::new::<Strict>();
    for n in 1..=3_i64 {
        rig.feed("words", &[key_value(Some(b"plum"), Some(&n.to_be_bytes()))]);
        rig.work();
    }
    assert_eq!(rig.processor::<Strict>().totals.get("plum").unwrap(), Some(6));
}
