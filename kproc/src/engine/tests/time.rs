//! When timers fire.

use super::*;

/// A script that notes its firings: which timer, and when since the beginning.
fn noting(diary: &Diary) -> Script {
    let note = diary.clone();
    script().scheduled().on_timer(move |_, _, timer, now| {
        let since = if now < START {
            now.as_millis()
        } else {
            now.since(START).as_millis() as i64
        };
        match timer {
            Timer::Every(number) => note.note(format!("{number} at {since}")),
            Timer::Scheduled(_) => note.note(format!("scheduled at {since}")),
        }
        Ok(())
    })
}

/// Lets wall time pass in these steps, with a run after each.
fn pass(rig: &mut Rig, steps: &[i64]) {
    for step in steps {
        rig.advance(*step);
        rig.run().unwrap();
    }
}

#[test]
fn f01_a_long_gap_in_stream_time_is_one_firing() {
    let diary = Diary::default();
    let mut rig = noting(&diary).every(2_000, TimerClock::Stream).rig();
    rig.feed("a", &[rec("1", 0), rec("2", 20_000)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["0 at 20000"]);
    // The grid is as before.
    rig.feed("a", &[rec("3", 21_999), rec("4", 22_000)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["0 at 22000"]);
}

#[test]
fn a_declared_timer_of_stream_time_fires_at_multiples_of_its_period_whatever_comes_first() {
    for first in [7_001, 9_999] {
        let diary = Diary::default();
        let mut rig = noting(&diary).every(1_000, TimerClock::Stream).rig();
        rig.feed(
            "a",
            &[
                rec("1", first),
                rec("2", 10_000),
                rec("3", 10_500),
                rec("4", 11_300),
                rec("5", 12_000),
            ],
        );
        rig.run().unwrap();
        assert_eq!(diary.read(), ["0 at 10000", "0 at 11300", "0 at 12000"]);
    }
}

#[test]
fn f02_a_wall_clock_timer_first_fires_after_one_period_and_keeps_its_grid() {
    let diary = Diary::default();
    let mut rig = noting(&diary).every(10_000, TimerClock::Wall).rig();
    rig.run().unwrap();
    assert!(diary.read().is_empty());
    pass(&mut rig, &[9_999, 1, 25_000, 4_999, 1]);
    assert_eq!(diary.read(), ["0 at 10000", "0 at 35000", "0 at 40000"]);
}

#[test]
fn f03_cancelling_works_in_its_own_callback_for_siblings_due_and_twice() {
    let diary = Diary::default();
    let note = diary.clone();
    let timers: Arc<Mutex<Vec<TimerId>>> = Arc::default();
    let (made, all) = (timers.clone(), timers);
    let mut rig = script()
        .scheduled()
        .on_start(move |_, ctx| {
            for _ in 0..4 {
                made.lock()
                    .unwrap()
                    .push(ctx.schedule(Duration::from_secs(1), TimerClock::Wall)?);
            }
            Ok(())
        })
        .on_timer(move |_, ctx, timer, _| {
            let all = all.lock().unwrap();
            let number = all.iter().position(|id| timer == Timer::Scheduled(*id)).unwrap();
            note.note(number.to_string());
            if number == 0 {
                // Itself, twice, and one that is due now.
                ctx.cancel(all[0]);
                ctx.cancel(all[0]);
                ctx.cancel(all[2]);
            }
            Ok(())
        })
        .rig();
    pass(&mut rig, &[1_000, 1_000]);
    assert_eq!(diary.read(), ["0", "1", "3", "1", "3"]);
}

#[test]
fn f05_the_grid_does_not_drift_by_what_handlers_take() {
    let diary = Diary::default();
    let clock_moves = diary.clone();
    let mut rig = script()
        .every(1_000, TimerClock::Wall)
        .on_timer(move |_, _, _, now| {
            clock_moves.note(now.since(START).as_millis().to_string());
            Ok(())
        })
        .rig();
    let mut fires = 0;
    while fires < 60 {
        let sleep = rig.sleep().unwrap();
        rig.advance(sleep.as_millis() as i64);
        rig.run().unwrap();
        fires += diary.read().len();
        // What the handler takes.
        rig.advance(200);
    }
    assert_eq!(
        rig.clock.wall.load(std::sync::atomic::Ordering::Relaxed),
        START.as_millis() + 60_000 + 200
    );
}

#[test]
fn f07_periods_of_zero_or_with_parts_of_a_millisecond_are_refused() {
    let periods = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_micros(999),
        Duration::from_micros(1_500),
    ];
    for period in periods {
        let mut rig = script()
            .scheduled()
            .on_start(move |_, ctx| {
                let error = ctx.schedule(period, TimerClock::Wall).unwrap_err();
                assert_eq!(
                    error.to_string(),
                    format!(
                        "a timer cannot fire every {period:?}: a period is a whole number of milliseconds, 1 at least"
                    )
                );
                Ok(())
            })
            .rig();
        pass(&mut rig, &[1_000]);

        let mut declared = script();
        declared.timers.push((period, TimerClock::Wall));
        let error = crate::topology::Topology::build(
            "app",
            crate::engine::declared(&[declared.processor::<0>()]),
            [].into(),
        );
        let error = error.err().unwrap().to_string();
        assert!(
            error.contains("timer 0 of processor `p0`: a timer cannot fire every"),
            "{error}"
        );
    }
    // As long as there is.
    let mut rig = script()
        .scheduled()
        .on_start(|_, ctx| {
            let forever = Duration::from_millis(i64::MAX as u64);
            ctx.schedule(forever, TimerClock::Wall)?;
            ctx.schedule(forever, TimerClock::Stream)?;
            ctx.schedule(Duration::MAX, TimerClock::Stream).unwrap_err();
            Ok(())
        })
        .on_timer(|_, _, _, _| panic!("never"))
        .rig();
    rig.feed("a", &[rec("1", 5), rec("2", i64::MAX)]);
    pass(&mut rig, &[1_000]);
    assert_eq!(rig.task.wake_at(), None);
}

#[test]
fn f12_the_wall_clock_may_jump_both_ways() {
    let hour = 3_600_000;
    let diary = Diary::default();
    let mut rig = noting(&diary).every(10_000, TimerClock::Wall).rig();
    let set = |rig: &mut Rig, millis: i64| {
        rig.clock
            .wall
            .fetch_add(millis, std::sync::atomic::Ordering::Relaxed);
        rig.run().unwrap();
    };
    pass(&mut rig, &[10_000]);
    assert_eq!(diary.read(), ["0 at 10000"]);
    // Forward: one firing, and on the grid again.
    set(&mut rig, hour + 3_000);
    assert_eq!(diary.read(), [format!("0 at {}", hour + 13_000)]);
    // Back: no stall. It was due at hour + 20 s, which is an hour and 7 s away now.
    set(&mut rig, -hour);
    assert!(diary.read().is_empty());
    pass(&mut rig, &[6_999, 1, 10_000]);
    assert_eq!(diary.read(), ["0 at 20000", "0 at 30000"]);
}

#[test]
fn whoever_sleeps_until_a_timer_looks_again_in_time_if_the_machine_was_suspended() {
    let mut rig = script().every(3_600_000, TimerClock::Wall).rig();
    rig.run().unwrap();
    assert_eq!(rig.task.wake_at(), Some(Duration::from_secs(10)));
    let mut rig = script().every(3_000, TimerClock::Wall).rig();
    rig.run().unwrap();
    assert_eq!(rig.task.wake_at(), Some(Duration::from_secs(3)));
}

#[test]
fn f14_stream_time_is_committed_and_restored() {
    let diary = Diary::default();
    let note = diary.clone();
    let mut rig = script()
        .every(10, TimerClock::Stream)
        .on_record(move |_, ctx, record| {
            note.note(format!(
                "{} {}",
                key(record)?,
                ctx.stream_time().unwrap().as_millis()
            ));
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 100)]);
    rig.run().unwrap();
    assert_eq!(rig.commit().unwrap().1.metadata, "v1 100");
    rig.fall_back();
    rig.feed("a", &[rec("2", 50), rec("3", 101)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["1 100", "2 100", "3 101"]);

    // Of several texts the highest counts, and foreign ones are passed over.
    for text in ["v1 7", "v1", "gibberish", "v9 5000"] {
        rig.task.restore_time(text);
    }
    assert_eq!(rig.commit().unwrap().1.metadata, "v1 101");
}

#[test]
fn scheduled_timers_begin_when_they_are_made_and_end_with_the_task() {
    let diary = Diary::default();
    let mut rig = noting(&diary)
        .on_record(|_, ctx, record| {
            if key(record)? == "make" {
                ctx.schedule(Duration::from_millis(10), TimerClock::Stream)?;
            }
            Ok(())
        })
        .rig();
    rig.feed(
        "a",
        &[rec("make", 103), rec("-", 112), rec("-", 113), rec("-", 140)],
    );
    rig.run().unwrap();
    assert_eq!(diary.read(), ["scheduled at 113", "scheduled at 140"]);
    rig.commit().unwrap();
    rig.fall_back();
    rig.feed("a", &[rec("-", 500)]);
    rig.run().unwrap();
    assert!(diary.read().is_empty());
}

#[test]
fn a_timer_scheduled_on_start_before_stream_time_begins_with_it_and_comes_back_after_a_restart() {
    let diary = Diary::default();
    let mut rig = noting(&diary)
        .on_start(|_, ctx| {
            ctx.schedule(Duration::from_millis(10), TimerClock::Stream)?;
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("-", 103), rec("-", 112), rec("-", 113)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["scheduled at 113"]);
    rig.commit().unwrap();
    rig.fall_back();
    rig.feed("a", &[rec("-", 122), rec("-", 123)]);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["scheduled at 123"]);
}

#[test]
fn a_processor_that_does_not_handle_scheduled_timers_cannot_make_any() {
    let mut rig = script()
        .on_record(|_, ctx, _| {
            ctx.schedule(Duration::from_secs(1), TimerClock::Wall)?;
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 1)]);
    let failure = rig.run().unwrap_err();
    assert_eq!(
        failure.error.to_string(),
        "processor `p0` cannot schedule timers, for it does not say what to do when one fires: give it a method with \
         `#[on_schedule]` (by hand: call `handles_scheduled` in `declare`)"
    );
}

#[test]
fn timers_are_their_processors_own() {
    let diary = Diary::default();
    let shared: Arc<Mutex<Option<TimerId>>> = Arc::default();
    let (made, other) = (shared.clone(), shared);
    let first = noting(&diary).on_start(move |_, ctx| {
        *made.lock().unwrap() = Some(ctx.schedule(Duration::from_millis(10), TimerClock::Wall)?);
        Ok(())
    });
    let second = script().scheduled().on_record(move |_, ctx, _| {
        ctx.cancel(other.lock().unwrap().unwrap());
        Ok(())
    });
    let mut rig = started(
        vec![first.processor::<1>(), second.processor::<2>()],
        TaskSettings::default(),
    );
    rig.feed("a", &[rec("1", 1)]);
    pass(&mut rig, &[1, 9]);
    assert_eq!(diary.read(), ["scheduled at 10"]);
}

#[test]
fn timers_of_both_clocks_fire_in_order_of_their_due_times() {
    let diary = Diary::default();
    let script = noting(&diary)
        .every(30, TimerClock::Wall)
        .every(20, TimerClock::Wall)
        .every(5, TimerClock::Stream);
    let mut rig = script.rig();
    rig.feed("a", &[rec("1", 4), rec("2", 5)]);
    pass(&mut rig, &[100]);
    // Due at 20, at 30; then the records.
    assert_eq!(diary.read(), ["1 at 100", "0 at 100", "2 at 5"]);
}

#[test]
fn at_the_end_wall_clock_timers_can_be_fired_once_more() {
    let diary = Diary::default();
    let mut rig = noting(&diary)
        .every(1_000, TimerClock::Wall)
        .every(1_000, TimerClock::Stream)
        .rig();
    pass(&mut rig, &[1_000, 250]);
    rig.task.fire_wall_timers();
    rig.run().unwrap();
    rig.run().unwrap();
    assert_eq!(diary.read(), ["0 at 1000", "0 at 1250"]);
    pass(&mut rig, &[750]);
    assert_eq!(diary.read(), ["0 at 2000"]);
}
