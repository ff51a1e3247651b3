//! What follows from an advance of stream time happens once, whoever is stopped or built anew in the middle of it.

use super::{policies::retry, *};

/// Notes what happens, and fails where it is told to, once for each time it is told.
#[derive(Clone)]
struct Trouble {
    diary: Diary,
    fails: Arc<Mutex<Vec<(&'static str, Kind)>>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Error,
    Panic,
}

impl Trouble {
    fn of(fails: &[(&'static str, Kind)]) -> Self {
        Self {
            diary: Diary::default(),
            fails: Arc::new(Mutex::new(fails.to_vec())),
        }
    }

    fn happens(&self, counts: &mut Counts, what: &str, now: Timestamp) -> Result<()> {
        self.diary.note(format!("{what} {}", now.as_millis()));
        *counts.entry(what)?.or_default() += 1;
        let found = {
            let mut fails = self.fails.lock().unwrap();
            let found = fails
                .iter()
                .position(|(name, _)| *name == what && now.as_millis() == 45);
            found.map(|place| fails.remove(place).1)
        };
        match found {
            None => Ok(()),
            Some(Kind::Error) => Err(Error::msg("told to")),
            Some(Kind::Panic) => panic!("told to"),
        }
    }

    /// Two processors; the timers of the first one come due in another order than the one in which they were declared.
    fn processors(&self) -> Vec<Factory> {
        let of = |hears: &'static str, timers: [&'static str; 2], periods: [u64; 2]| {
            let (advance, firing) = (self.clone(), self.clone());
            script()
                .every(periods[0], TimerClock::Stream)
                .every(periods[1], TimerClock::Stream)
                .on_stream_time(move |counts, ctx| advance.happens(counts, hears, ctx.stream_time().unwrap()))
                .on_timer(move |counts, _, timer, now| {
                    let Timer::Every(number) = timer else {
                        return Ok(());
                    };
                    firing.happens(counts, timers[number], now)
                })
        };
        vec![
            of("hears 1", ["late 1", "early 1"], [40, 10]).processor::<1>(),
            of("hears 2", ["early 2", "late 2"], [20, 50]).processor::<2>(),
        ]
    }

    fn rig(&self, settings: TaskSettings) -> Rig {
        let mut rig = started(self.processors(), settings);
        rig.feed("a", &[rec("1", 1)]);
        rig.run().unwrap();
        rig.commit().unwrap();
        assert_eq!(self.diary.read(), ["hears 1 1", "hears 2 1"]);
        rig
    }
}

/// All that follows from the advance to 45.
const ALL: [&str; 5] = [
    "hears 1 45",
    "hears 2 45",
    "early 1 45",
    "early 2 45",
    "late 1 45",
];

/// It happens in this order, with nothing twice but what failed.
fn in_order(diary: &[String], failed: &str) -> bool {
    let mut due = ALL.iter().peekable();
    for line in diary {
        if due.peek().is_some_and(|due| *due == line) {
            due.next();
        } else if !line.starts_with(failed) {
            return false;
        }
    }
    due.next().is_none()
}

/// Each happened once, as far as the stores know.
fn counted(rig: &Rig) {
    for (number, what) in ["hears 1", "early 1", "late 1"].iter().enumerate() {
        let times = if number == 0 { 2 } else { 1 };
        assert_eq!(count::<1>(rig, what), Some(times), "{what}");
    }
    assert_eq!(
        (count::<2>(rig, "hears 2"), count::<2>(rig, "early 2")),
        (Some(2), Some(1))
    );
    assert_eq!(count::<2>(rig, "late 2"), None);
}

const FAILING: [&str; 5] = ["hears 1", "hears 2", "early 1", "early 2", "late 1"];

#[test]
fn what_stops_the_application_is_done_when_it_comes_back_and_what_was_after_it_too() {
    for failing in FAILING {
        for kind in [Kind::Error, Kind::Panic] {
            let trouble = Trouble::of(&[(failing, kind), (failing, kind)]);
            let mut rig = trouble.rig(TaskSettings::default());
            rig.feed("a", &[rec("2", 45)]);
            // It stops, and what was done before is committed; it stops for the same again; then it is mended.
            for _ in 0..2 {
                rig.run().unwrap_err();
                rig.commit().unwrap();
                rig.restart();
            }
            rig.run().unwrap();
            let diary = trouble.diary.read();
            assert!(in_order(&diary, failing), "{failing}: {diary:?}");
            counted(&rig);
            let (_, commit) = rig.commit().unwrap();
            assert_eq!(commit.metadata, "v1 45");
            rig.restart();
            rig.feed("a", &[rec("3", 46)]);
            rig.run().unwrap();
            assert_eq!(trouble.diary.read(), ["hears 1 46", "hears 2 46"]);
        }
    }
}

#[test]
fn what_waits_to_be_tried_again_is_owed_also_to_whoever_comes_next() {
    for failing in FAILING {
        let trouble = Trouble::of(&[(failing, Kind::Error)]);
        let mut rig = trouble.rig(policy(retry(3, false)));
        rig.feed("a", &[rec("2", 45)]);
        rig.run().unwrap();
        assert!(rig.task.owes_firings(), "{failing}");
        // An interval has passed, and then the process dies.
        assert_ne!(rig.commit().unwrap().1.metadata, "v1 45");
        rig.restart();
        rig.run().unwrap();
        let diary = trouble.diary.read();
        assert!(in_order(&diary, failing), "{failing}: {diary:?}");
        counted(&rig);
        assert_eq!(rig.commit().unwrap().1.metadata, "v1 45");
    }
}

#[test]
fn after_a_panic_the_rest_happens_also_if_nothing_was_committed_or_all_was() {
    for failing in FAILING {
        for then_skip in [false, true] {
            for (committed, early) in [(true, false), (true, true), (false, false)] {
                let what = format!("{failing}, skip {then_skip}, committed {committed}, early {early}");
                let first = if early { Kind::Error } else { Kind::Panic };
                let trouble =
                    Trouble::of(&[(failing, first), (failing, Kind::Panic), (failing, Kind::Panic)]);
                let mut rig = trouble.rig(policy(retry(if then_skip { 1 } else { 5 }, then_skip)));
                rig.feed("a", &[rec("2", 45)]);
                for _ in 0..6 {
                    let result = rig.run();
                    // That something failed may be committed before it is tried again.
                    if early || (committed && result.is_err()) {
                        rig.commit();
                    }
                    if result.is_err() {
                        rig.fall_back();
                        if !committed {
                            rig.feed("a", &[rec("2", 45)]);
                        }
                    }
                    rig.advance(10_000);
                }
                let mut diary = trouble.diary.read();
                if !committed {
                    // What came before the failure is done again.
                    let again = diary.iter().rposition(|line| line == ALL[0]).unwrap();
                    diary.drain(..again);
                }
                assert!(in_order(&diary, failing), "{what}: {diary:?}");
                if !then_skip {
                    counted(&rig);
                }
            }
        }
    }
}

#[test]
fn what_the_program_does_not_have_any_more_is_not_owed() {
    let trouble = Trouble::of(&[]);
    let mut rig = Rig::of(trouble.processors(), TaskSettings::default());
    let owed = ["p1 timer 0", "gone timer x", "p2 timer 1"].map(crate::mark::Mark::of);
    let text = |marks: &[crate::mark::Mark]| {
        crate::engine::stream_time::encode(Some(Timestamp::from_millis(45)), marks)
    };
    for text in [text(&owed[..2]), text(&owed[1..])] {
        rig.task.restore_time(&text);
    }
    rig.start().unwrap();
    rig.run().unwrap();
    assert_eq!(trouble.diary.read(), ["late 1 45", "late 2 45"]);
    assert_eq!(rig.commit().unwrap().1.metadata, "v1 45");
}

/// Else it would seem to be owed for ever.
#[test]
fn that_nothing_is_owed_any_more_is_committed_also_if_nothing_happens() {
    let mut rig = Rig::of(Trouble::of(&[]).processors(), TaskSettings::default());
    rig.task.restore_time("v1 45 owed:abcd");
    rig.start().unwrap();
    rig.run().unwrap();
    assert_eq!(rig.commit().unwrap().1.metadata, "v1 45");
    assert!(rig.commit().is_none());
}

#[test]
fn a_program_with_its_processors_in_another_order_does_what_is_owed_once() {
    for failing in FAILING {
        let trouble = Trouble::of(&[(failing, Kind::Error)]);
        let mut rig = trouble.rig(TaskSettings::default());
        rig.feed("a", &[rec("2", 45)]);
        rig.run().unwrap_err();
        let (_, commit) = rig.commit().unwrap();
        let again = Trouble::of(&[]);
        let mut processors = again.processors();
        processors.reverse();
        let mut rig = Rig::of(processors, TaskSettings::default());
        rig.task.restore_time(&commit.metadata);
        rig.start().unwrap();
        rig.run().unwrap();
        let diary = [trouble.diary.read(), again.diary.read()].concat();
        assert!(in_order(&diary, failing), "{failing}: {diary:?}");
    }
}

/// One of their processors reads the other's input now, or a new one reads both.
#[test]
fn of_groups_that_have_become_one_each_had_what_it_owed() {
    let texts = [
        format!("v1 45 owed:{}", crate::mark::Mark::of("p1 timer 1")),
        format!("v1 46 owed:{}", crate::mark::Mark::of("p2 stream time")),
    ];
    for texts in [[0, 1], [1, 0]].map(|order| order.map(|number| &texts[number])) {
        let trouble = Trouble::of(&[]);
        let mut rig = Rig::of(trouble.processors(), TaskSettings::default());
        for text in texts {
            rig.task.restore_time(text);
        }
        rig.start().unwrap();
        rig.run().unwrap();
        assert_eq!(trouble.diary.read(), ["hears 2 46", "early 1 46"]);
    }
}
