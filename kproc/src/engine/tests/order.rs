//! Which record is next, and what it does to stream time.

use super::*;

/// A script that notes topic, key and stream time of every record of `a` and `b`.
fn notes(diary: &Diary) -> Script {
    let diary = diary.clone();
    script().inputs(&[A, B]).on_record(move |_, ctx, record| {
        let topic = ctx.topic().unwrap();
        assert_eq!(topic, if record.input == 0 { "a" } else { "b" });
        let time = ctx
            .stream_time()
            .map_or("-".into(), |time| time.as_millis().to_string());
        diary.note(format!("{topic} {} {time}", key(record)?));
        Ok(())
    })
}

fn setup() -> (Rig, Diary) {
    let diary = Diary::default();
    (notes(&diary).rig(), diary)
}

#[test]
fn lowest_timestamp_goes_first_and_ties_follow_the_inputs() {
    let (mut rig, diary) = setup();
    rig.feed("a", &[rec("1", 10), rec("2", 30), rec("3", 20)]);
    rig.feed("b", &[rec("1", 10), rec("2", 15), rec("3", 40)]);
    assert_eq!(rig.run().unwrap(), Pause::Starved);
    // "3" of `a` comes after "2" of `a`, however early it is: a partition's order is never changed.
    assert_eq!(
        diary.read(),
        ["a 1 10", "b 1 10", "b 2 15", "a 2 30", "a 3 30", "b 3 40"]
    );
}

#[test]
fn an_input_that_has_more_holds_the_others_back() {
    let (mut rig, diary) = setup();
    rig.task.known(1, Some(Offset::new(5)), Some(Offset::new(6)));
    rig.feed("a", &[rec("1", 10)]);
    assert_eq!(rig.run().unwrap(), Pause::Starved);
    assert!(diary.read().is_empty());
    assert!(rig.task.wants(1) && !rig.task.wants(0));
    assert_eq!(rig.task.wake_at(), None, "it waits for records, not for time");

    rig.feed("b", &[rec("1", 5)]);
    rig.task.known(1, Some(Offset::new(6)), Some(Offset::new(6)));
    rig.run().unwrap();
    assert_eq!(diary.read(), ["b 1 5", "a 1 10"]);
}

#[test]
fn an_input_of_which_nothing_is_known_holds_the_others_back() {
    let (mut rig, diary) = setup();
    rig.task.known(1, None, None);
    rig.feed("a", &[rec("1", 10)]);
    rig.run().unwrap();
    assert!(diary.read().is_empty());
    rig.task.known(1, Some(Offset::ZERO), Some(Offset::ZERO));
    rig.run().unwrap();
    assert_eq!(diary.read(), ["a 1 10"]);
}

#[test]
fn an_idle_input_holds_the_others_back_for_max_task_idle_only() {
    let diary = Diary::default();
    let settings = TaskSettings {
        max_task_idle: Duration::from_millis(100),
        ..TaskSettings::default()
    };
    let mut rig = notes(&diary).rig_with(settings);
    rig.advance(1_000);
    rig.feed("a", &[rec("1", 10), rec("2", 20)]);
    rig.run().unwrap();
    assert_eq!(rig.task.wake_at(), Some(Duration::from_millis(1_100)));
    rig.advance(99);
    rig.run().unwrap();
    assert!(diary.read().is_empty());
    rig.advance(1);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["a 1 10", "a 2 20"]);
    assert_eq!(rig.task.wake_at(), None);

    // Once all have had records again, a new wait begins.
    rig.feed("a", &[rec("3", 30)]);
    rig.feed("b", &[rec("1", 25)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["b 1 25"]);
    assert_eq!(rig.task.wake_at(), Some(Duration::from_millis(1_200)));
}

#[test]
fn b14_a_record_without_a_timestamp_fails_by_default_and_says_what_can_be_set() {
    let (mut rig, diary) = setup();
    for missing in [None, Some(-1), Some(-5)] {
        let (mut rig, _) = setup();
        rig.feed(
            "a",
            &[Fed {
                timestamp: missing,
                ..rec("1", 0)
            }],
        );
        let failure = rig.run().unwrap_err();
        assert_eq!(failure.next, Next::Stop);
        assert_eq!(
            failure.to_string(),
            "processor `p0`, record a[3] offset 0: the record has no timestamp; to pass over such records, or to \
             give them one, set `missing_timestamp` to `skip`, `stream_time` or `wall_clock`"
        );
        assert!(rig.task.prepare_commit().is_none());
    }
    rig.feed("a", &[rec("1", 1000)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["a 1 1000"]);
}

#[test]
fn b14_missing_timestamps_never_move_stream_time() {
    let cases = [
        (MissingTimestamp::Skip, vec!["a 3 1000"], vec![Some(1000)]),
        (
            MissingTimestamp::StreamTime,
            vec!["a 1 -", "a 2 -", "a 3 1000", "a 4 1000"],
            vec![None, None, Some(1000), Some(1000)],
        ),
        (
            MissingTimestamp::WallClock,
            vec!["a 1 -", "a 2 -", "a 3 1000", "a 4 1000"],
            vec![
                Some(START.as_millis()),
                Some(START.as_millis()),
                Some(1000),
                Some(START.as_millis()),
            ],
        ),
    ];
    for (missing_timestamp, noted, stamped) in cases {
        let diary = Diary::default();
        let stamps: Arc<Mutex<Vec<_>>> = Arc::default();
        let (script, seen) = (notes(&diary), stamps.clone());
        let note = script.record.clone();
        let settings = TaskSettings {
            missing_timestamp,
            ..TaskSettings::default()
        };
        let mut rig = script
            .on_record(move |counts, ctx, record| {
                assert_eq!(ctx.timestamp(), record.timestamp);
                seen.lock()
                    .unwrap()
                    .push(record.timestamp.map(Timestamp::as_millis));
                note(counts, ctx, record)
            })
            .rig_with(settings);
        let without = |key, timestamp| Fed {
            timestamp,
            ..rec(key, 0)
        };
        rig.feed(
            "a",
            &[
                without("1", Some(-1)),
                without("2", Some(-5)),
                rec("3", 1000),
                without("4", None),
            ],
        );
        rig.run().unwrap();
        assert_eq!(diary.read(), noted, "{missing_timestamp:?}");
        assert_eq!(*stamps.lock().unwrap(), stamped, "{missing_timestamp:?}");
        let commit = rig.task.prepare_commit().unwrap();
        assert_eq!(commit.inputs, [(0, Offset::new(4))]);
        assert_eq!(rig.task.counters().skipped, if noted.len() == 1 { 3 } else { 0 });
    }
}

#[test]
fn b16_timestamps_in_seconds_do_not_move_stream_time_back() {
    let (mut rig, diary) = setup();
    rig.feed(
        "a",
        &[
            rec("1", 1_734_500_000_000),
            rec("2", 1_734_500_000),
            rec("3", 1_734_500_000_001),
        ],
    );
    rig.run().unwrap();
    assert_eq!(
        diary.read(),
        ["a 1 1734500000000", "a 2 1734500000000", "a 3 1734500000001"]
    );
    assert_eq!(rig.task.counters().out_of_order, 1);
}

#[test]
fn b17_a_record_too_far_ahead_is_processed_and_does_not_move_stream_time() {
    let now = START.as_millis();
    let year_2099 = 4_070_908_800_000;
    let diary = Diary::default();
    let settings = TaskSettings {
        max_ahead: Some(Duration::from_secs(3600)),
        ..TaskSettings::default()
    };
    let mut rig = notes(&diary).rig_with(settings);
    // The record that is too far ahead does not wait until all others have come, either.
    rig.feed(
        "a",
        &[
            rec("1", now),
            rec("2", year_2099),
            rec("3", now + 1),
            rec("4", i64::MAX),
        ],
    );
    rig.feed("b", &[rec("1", now + 2)]);
    rig.run().unwrap();
    let at = |name: &str, time: i64| format!("{name} {time}");
    assert_eq!(
        diary.read(),
        [
            at("a 1", now),
            at("a 2", now),
            at("a 3", now + 1),
            at("a 4", now + 1),
            at("b 1", now + 2)
        ]
    );
    assert_eq!(rig.task.counters().too_far_ahead, 2);
}

#[test]
fn b17_the_last_moment_there_is_overflows_nothing() {
    let diary = Diary::default();
    let note = diary.clone();
    let mut rig = script()
        .every(1_000, TimerClock::Stream)
        .on_timer(move |_, _, _, now| {
            note.note(format!("fires {}", now.as_millis()));
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 1), rec("2", i64::MAX), rec("3", 5)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), [format!("fires {}", i64::MAX)]);
}

#[test]
fn b22_timestamp_zero_is_a_timestamp() {
    let (mut rig, diary) = setup();
    rig.feed("a", &[rec("1", 0)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["a 1 0"]);
    assert_eq!(rig.task.prepare_commit().unwrap().metadata, "v1 0");
}

#[test]
fn f04_stream_time_is_the_highest_of_all_inputs() {
    let diary = Diary::default();
    let note = diary.clone();
    let mut rig = script()
        .inputs(&[A, B])
        .every(10, TimerClock::Stream)
        .on_timer(move |_, _, _, now| {
            note.note(now.as_millis().to_string());
            Ok(())
        })
        .rig();
    // `b` never has a record.
    rig.feed("a", &[rec("1", 5), rec("2", 10), rec("3", 25)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["10", "25"]);
}
