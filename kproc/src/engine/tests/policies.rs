//! What follows from a failure.

use super::*;

/// Adds up what comes under each key; fails on the key `bad`.
fn adding(fail: impl Fn() -> Result<()> + Send + Sync + 'static) -> Script {
    script().on_record(move |counts, _, record| {
        let key = key(record)?;
        *counts.entry(key)?.or_default() += 1;
        if key == "bad" { fail() } else { Ok(()) }
    })
}

pub(super) fn retry(attempts: u32, then_skip: bool) -> Policy {
    Policy::Retry(Retry {
        attempts,
        backoff: Duration::from_millis(100),
        max_backoff: Duration::from_millis(300),
        then_skip,
    })
}

#[test]
fn b05_b08_b10_a_record_that_cannot_be_read_is_skipped_and_the_next_is_processed() {
    let only_unreadable = TaskSettings {
        policies: crate::policy::Policies {
            deserialization: Policy::Skip,
            ..Default::default()
        },
        ..TaskSettings::default()
    };
    let not_utf8 = Fed {
        key: Some(&[0xff, 0xfe, 0x00]),
        ..rec("", 2)
    };
    let null = Fed {
        key: None,
        ..rec("", 2)
    };
    for unreadable in [not_utf8, null] {
        let mut rig = adding(|| Ok(())).rig_with(only_unreadable.clone());
        rig.feed("a", &[rec("good", 1), unreadable, rec("good", 3)]);
        assert_eq!(rig.run().unwrap(), Pause::Starved);
        assert_eq!(count::<0>(&rig, "good"), Some(2));
        let counters = rig.task.counters();
        assert_eq!((counters.records, counters.skipped), (2, 1));
        assert_eq!(rig.task.prepare_commit().unwrap().inputs, [(0, Offset::new(3))]);

        // By default, and for any other kind, it stops there and says so.
        let mut rig = adding(|| Ok(())).rig();
        rig.feed("a", &[rec("good", 1), unreadable, rec("good", 3)]);
        let failure = rig.run().unwrap_err();
        assert_eq!(
            (failure.kind(), failure.next),
            (ErrorKind::Deserialization, Next::Stop)
        );
        assert!(
            failure
                .to_string()
                .starts_with("processor `p0`, record a[3] offset 1: "),
            "{failure}"
        );
        let mut rig = adding(|| Err(Error::msg("no"))).rig_with(only_unreadable.clone());
        rig.feed("a", &[rec("bad", 1)]);
        assert_eq!(rig.run().unwrap_err().kind(), ErrorKind::Processing);
    }
}

#[test]
fn b09_a_poison_record_has_a_bounded_outcome() {
    let poisoned = |settings| {
        let mut rig = adding(|| Err(Error::msg("poison"))).rig_with(settings);
        let records: Vec<_> = (0..10)
            .map(|n| rec(if n == 5 { "bad" } else { "good" }, n))
            .collect();
        rig.feed("a", &records);
        rig
    };
    // Stop: every restart comes to the same record and names it.
    for _restart in 0..3 {
        let mut rig = poisoned(TaskSettings::default());
        let failure = rig.run().unwrap_err();
        assert!(
            failure.to_string().contains("record a[3] offset 5: poison"),
            "{failure}"
        );
        assert_eq!(rig.task.prepare_commit().unwrap().inputs, [(0, Offset::new(5))]);
    }
    // Skip: it is passed over and committed.
    let mut rig = poisoned(policy(Policy::Skip));
    rig.run().unwrap();
    assert_eq!(
        (count::<0>(&rig, "good"), count::<0>(&rig, "bad")),
        (Some(9), None)
    );
    assert_eq!(rig.task.prepare_commit().unwrap().inputs, [(0, Offset::new(10))]);
}

#[test]
fn a_retry_waits_longer_each_time_and_holds_only_its_own_task() {
    let tries = Arc::new(Mutex::new(0));
    let count_tries = tries.clone();
    let mut rig = adding(move || {
        *count_tries.lock().unwrap() += 1;
        Err(Error::msg("not yet"))
    })
    .rig_with(policy(retry(4, false)));
    rig.feed("a", &[rec("good", 1), rec("bad", 2), rec("good", 3)]);
    let mut waits = Vec::new();
    let failure = loop {
        match rig.run() {
            Ok(pause) => assert_eq!(pause, Pause::Starved),
            Err(failure) => break failure,
        }
        let wait = rig.sleep().unwrap();
        // It is at rest meanwhile: nothing is half done, and a commit is possible.
        assert_eq!(
            (count::<0>(&rig, "good"), count::<0>(&rig, "bad")),
            (Some(1), None)
        );
        waits.push(wait.as_millis());
        let before = *tries.lock().unwrap();
        rig.advance(wait.as_millis() as i64 - 1);
        rig.run().unwrap();
        assert_eq!(*tries.lock().unwrap(), before, "too early");
        rig.advance(1);
    };
    assert_eq!(waits, [100, 200, 300, 300]);
    assert_eq!((*tries.lock().unwrap(), failure.next), (5, Next::Stop));
    assert_eq!(
        failure.to_string(),
        "processor `p0`, record a[3] offset 1: not yet"
    );
    assert_eq!(rig.task.counters().retried, 4);
}

#[test]
fn a_retry_that_works_is_forgotten_and_the_record_keeps_its_place() {
    let failures = Arc::new(Mutex::new(2));
    let diary = Diary::default();
    let (left, note) = (failures.clone(), diary.clone());
    let mut rig = script()
        .inputs(&[A, B])
        .on_record(move |counts, ctx, record| {
            let key = key(record)?;
            counts.put(key, &1)?;
            let mut left = left.lock().unwrap();
            if key == "bad" && *left > 0 {
                *left -= 1;
                return Err(Error::msg("not yet"));
            }
            note.note(format!("{} {key}", ctx.topic().unwrap()));
            Ok(())
        })
        .rig_with(policy(retry(2, false)));
    rig.feed("a", &[rec("bad", 10), rec("bad", 20)]);
    for attempt in 0..4 {
        rig.run().unwrap();
        if attempt == 0 {
            // What comes meanwhile does not overtake what is tried again, not even if it is older.
            rig.feed("b", &[rec("old", 5)]);
        }
        if attempt == 1 {
            assert_eq!(rig.task.wake_at(), Some(Duration::from_millis(100 + 200)));
        }
        let sleep = rig.sleep().unwrap_or_default();
        rig.advance(sleep.as_millis() as i64);
        if attempt == 2 {
            // The second record fails twice, too: its attempts are its own.
            *failures.lock().unwrap() = 2;
            assert_eq!(diary.read(), ["a bad", "b old", "a bad"]);
            assert_eq!(rig.task.wake_at(), None);
            rig.feed("a", &[rec("bad", 30)]);
        }
    }
    rig.run().unwrap();
    rig.advance(200);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["a bad"]);
}

#[test]
fn a_retry_may_end_in_a_skip() {
    let mut rig = adding(|| Err(Error::msg("never"))).rig_with(policy(retry(1, true)));
    rig.feed("a", &[rec("bad", 1), rec("good", 2)]);
    rig.run().unwrap();
    rig.advance(100);
    rig.run().unwrap();
    assert_eq!(
        (count::<0>(&rig, "good"), rig.task.counters().skipped),
        (Some(1), 1)
    );
}

#[test]
fn a_panic_under_skip_falls_back_and_the_record_is_passed_over_in_the_replay() {
    let mut rig = adding(|| panic!("out of cheese")).rig_with(policy(Policy::Skip));
    let records = [rec("good", 1), rec("good", 2), rec("bad", 3), rec("good", 4)];
    rig.feed("a", &records[..1]);
    rig.run().unwrap();
    rig.commit().unwrap();
    rig.feed("a", &records[1..]);
    let failure = rig.run().unwrap_err();
    assert_eq!((failure.next, failure.kind()), (Next::FallBack, ErrorKind::Panic));

    rig.fall_back();
    // The replay begins at the last commit.
    let load = Load::new(1, &records[1..]);
    rig.feed_load(0, &load);
    assert_eq!(rig.run().unwrap(), Pause::Starved);
    assert_eq!(
        (count::<0>(&rig, "good"), count::<0>(&rig, "bad")),
        (Some(3), None)
    );
    assert_eq!(rig.task.counters().skipped, 1);
    assert_eq!(rig.task.prepare_commit().unwrap().inputs, [(0, Offset::new(4))]);
}

#[test]
fn a_panic_under_retry_falls_back_each_time_and_is_bounded() {
    let mut rig = adding(|| panic!("again")).rig_with(policy(retry(2, false)));
    let records = [rec("good", 1), rec("bad", 2)];
    let mut next = Vec::new();
    for _ in 0..3 {
        rig.feed("a", &records);
        // After a fall-back it waits before it does anything.
        if let Some(sleep) = rig.sleep() {
            assert_eq!(rig.run().unwrap(), Pause::Starved);
            assert_eq!(count::<0>(&rig, "good"), None);
            rig.advance(sleep.as_millis() as i64);
        }
        next.push(rig.run().unwrap_err().next);
        if next.last() == Some(&Next::FallBack) {
            rig.fall_back();
        }
    }
    assert_eq!(next, [Next::FallBack, Next::FallBack, Next::Stop]);
}

#[test]
fn a_timer_that_fails_follows_the_policy_too() {
    let script = |diary: &Diary| {
        let note = diary.clone();
        script()
            .every(1_000, TimerClock::Wall)
            .on_timer(move |counts, ctx, _, now| {
                counts.put("timer", &1)?;
                ctx.send(&OUT, "timer", &1)?;
                note.note((now.since(START).as_millis()).to_string());
                if now.since(START) < Duration::from_millis(1_500) {
                    Err(Error::msg("early"))
                } else {
                    Ok(())
                }
            })
    };
    let diary = Diary::default();

    let mut rig = script(&diary).rig();
    rig.advance(1_000);
    let failure = rig.run().unwrap_err();
    assert_eq!(failure.to_string(), "processor `p0`, timer 0, every 1s: early");
    assert!(rig.task.prepare_commit().is_none());
    diary.read();

    let mut rig = script(&diary).rig_with(policy(Policy::Skip));
    for _ in 0..2 {
        rig.advance(1_000);
        rig.run().unwrap();
    }
    assert_eq!(
        (diary.read(), rig.sent().len()),
        (vec!["1000".into(), "2000".into()], 1)
    );

    let again = Policy::Retry(Retry {
        backoff: Duration::from_millis(300),
        max_backoff: Duration::from_secs(1),
        ..Retry::default()
    });
    let mut rig = script(&diary).rig_with(policy(again));
    for _ in 0..10 {
        rig.advance(300);
        rig.run().unwrap();
    }
    // Due at 1000, looked at at 1200, tried again 300 ms later; then back on the grid.
    assert_eq!(
        (diary.read(), rig.sent().len()),
        (["1200", "1500", "2100", "3000"].map(String::from).to_vec(), 3)
    );
}

#[test]
fn f08_a_panic_in_a_timer_is_a_failure_of_the_task() {
    let fired = Arc::new(Mutex::new(0));
    let mut rig = script()
        .every(1_000, TimerClock::Wall)
        .on_timer(move |_, _, _, _| {
            let mut fired = fired.lock().unwrap();
            *fired += 1;
            assert!(*fired < 2, "second time");
            Ok(())
        })
        .rig();
    rig.advance(1_000);
    rig.run().unwrap();
    rig.advance(1_000);
    let failure = rig.run().unwrap_err();
    assert_eq!(
        (failure.next, failure.phase.clone()),
        (
            Next::Stop,
            Phase::Timer(crate::timer::Firing {
                unit: 0,
                timer: Timer::Every(0),
                clock: TimerClock::Wall
            })
        )
    );
    assert_eq!(
        failure.to_string(),
        "processor `p0`, timer 0, every 1s: panicked: second time"
    );
}

#[test]
fn an_advance_of_stream_time_that_fails_is_not_the_records_failure() {
    let diary = Diary::default();
    let note = |name: &'static str, fails: bool| {
        let note = diary.clone();
        script()
            .on_record(|counts, _, record| Ok(counts.put(key(record)?, &1)?))
            .on_stream_time(move |counts, ctx| {
                let now = ctx.stream_time().unwrap().as_millis();
                note.note(format!("{name} {now}"));
                counts.put("hook", &now)?;
                if fails && now == 2 {
                    Err(Error::msg("no"))
                } else {
                    Ok(())
                }
            })
    };
    let processors = vec![
        note("first", true).processor::<1>(),
        note("second", false).processor::<2>(),
    ];
    let mut rig = started(processors, policy(Policy::Skip));
    rig.feed("a", &[rec("1", 1), rec("2", 2), rec("3", 2), rec("4", 1)]);
    rig.run().unwrap();
    // Once for each advance, and to every processor.
    assert_eq!(diary.read(), ["first 1", "second 1", "first 2", "second 2"]);
    assert_eq!(
        (
            count::<1>(&rig, "2"),
            count::<1>(&rig, "hook"),
            count::<2>(&rig, "hook")
        ),
        (Some(1), Some(1), Some(2))
    );
    assert_eq!(rig.task.counters().records, 4);
}

#[test]
fn attempts_are_counted_anew_once_something_has_worked_or_was_skipped() {
    // Each firing fails at first and works when it is tried again: one attempt is enough for ever.
    let fails = Arc::new(Mutex::new(false));
    let mut rig = script()
        .every(1_000, TimerClock::Wall)
        .on_timer(move |_, _, _, _| {
            let mut fails = fails.lock().unwrap();
            *fails = !*fails;
            if *fails {
                Err(Error::msg("every other time"))
            } else {
                Ok(())
            }
        })
        .rig_with(policy(retry(1, false)));
    for _ in 0..5 {
        for step in [900, 100] {
            rig.advance(step);
            rig.run().unwrap();
        }
    }
    // The last one is to be tried again yet.
    assert_eq!(rig.task.counters().retried, 5);

    // Each firing fails, is tried again, and is skipped then; so is the next.
    let mut rig = script()
        .every(1_000, TimerClock::Wall)
        .on_timer(|_, _, _, _| Err(Error::msg("never")))
        .rig_with(policy(retry(1, true)));
    for _ in 0..3 {
        for step in [900, 100] {
            rig.advance(step);
            rig.run().unwrap();
        }
    }
    assert_eq!(rig.task.counters().retried, 3);
}
