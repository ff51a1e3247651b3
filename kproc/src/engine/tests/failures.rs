//! A turn that fails leaves nothing of it behind.

use super::*;

/// How a handler fails.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Error,
    Panic,
}

/// Puts, sends, schedules, asks for a commit, and then fails if the key is `bad`.
fn busy(way: Way) -> Script {
    script().scheduled().on_record(move |counts, ctx, record| {
        let key = key(record)?;
        *counts.entry(key)?.or_default() += 1;
        *counts.entry("all")?.or_default() += 1;
        ctx.send(&OUT, key, &1)?;
        if key == "bad" {
            counts.delete("good")?;
            ctx.schedule(Duration::from_secs(1), TimerClock::Stream)?;
            ctx.commit();
            match way {
                Way::Error => return Err(Error::msg("no more")),
                Way::Panic => panic!("no more"),
            }
        }
        Ok(())
    })
}

#[test]
fn a_handler_that_puts_and_sends_and_then_fails_leaves_nothing_of_it() {
    for way in [Way::Error, Way::Panic] {
        let mut rig = busy(way).rig();
        rig.feed("a", &[rec("good", 1_000), rec("bad", 5_000), rec("good", 9_000)]);
        let failure = rig.run().unwrap_err();
        assert_eq!(failure.next, Next::Stop);
        let words = if way == Way::Panic {
            "panicked: no more"
        } else {
            "no more"
        };
        assert_eq!(
            failure.to_string(),
            format!("processor `p0`, record a[3] offset 1: {words}"),
            "{way:?}"
        );
        assert_eq!(
            failure.kind(),
            if way == Way::Panic {
                ErrorKind::Panic
            } else {
                ErrorKind::Processing
            }
        );
        assert_eq!(
            failure.phase,
            Phase::Record(crate::TopicPartition::new("a", Partition::new(3)), Offset::new(1))
        );

        assert!(!rig.task.commit_requested(), "{way:?}");
        assert_eq!(
            (
                count::<0>(&rig, "good"),
                count::<0>(&rig, "bad"),
                count::<0>(&rig, "all")
            ),
            (Some(1), None, Some(1))
        );
        // What was done before can be committed.
        let (sent, commit) = rig.commit().unwrap();
        assert_eq!(keys(&sent), ["good", "all", "good"]);
        assert_eq!(
            (commit.inputs, commit.metadata.as_str()),
            (vec![(0, Offset::new(1))], "v1 1000")
        );
    }
}

#[test]
fn timers_made_and_cancelled_by_a_handler_that_fails_are_as_before() {
    let diary = Diary::default();
    let note = diary.clone();
    let made: Arc<Mutex<Option<TimerId>>> = Arc::default();
    let mut rig = script()
        .scheduled()
        .on_record(move |_, ctx, record| {
            let mut made = made.lock().unwrap();
            match (key(record)?, *made) {
                ("make", _) => *made = Some(ctx.schedule(Duration::from_millis(10), TimerClock::Stream)?),
                ("fail", Some(timer)) => {
                    ctx.cancel(timer);
                    ctx.schedule(Duration::from_millis(1), TimerClock::Stream)?;
                    return Err(Error::msg("no"));
                }
                _ => {}
            }
            Ok(())
        })
        .on_timer(move |_, _, _, now| {
            note.note(now.as_millis().to_string());
            Ok(())
        })
        .rig_with(policy(Policy::Skip));
    rig.feed(
        "a",
        &[
            rec("make", 5),
            rec("fail", 6),
            rec("-", 14),
            rec("-", 15),
            rec("-", 16),
        ],
    );
    rig.run().unwrap();
    assert_eq!(diary.read(), ["15"]);
}

/// Keeps all keys in one value, which may become too large for a changelog.
#[derive(Default)]
struct Joined {
    all: Table<String, String>,
}

impl Processor for Joined {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &A, Start::Earliest);
        to.store("all", StoreOptions::default(), &mut self.all);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = key(record)?;
        self.all.put("last", &key[..1])?;
        self.all.entry("all")?.or_default().push_str(key);
        Ok(ctx.send(&OUT, "sent", &1)?)
    }
}

#[test]
fn a_value_that_a_guard_cannot_write_is_the_records_failure() {
    let large = "x".repeat(2 << 20);
    let mut rig = started(vec![factory(Joined::default)], policy(Policy::Skip));
    rig.feed("a", &[rec("a", 1), rec(&large, 2), rec("b", 3)]);
    rig.run().unwrap();
    let all = &rig.processor::<Joined>().all;
    assert_eq!(all.get("all").unwrap(), Some("ab"));
    assert_eq!(all.get("last").unwrap(), Some("b"));
    assert_eq!((rig.sent().len(), rig.task.counters().skipped), (2, 1));

    let mut rig = started(vec![factory(Joined::default)], TaskSettings::default());
    rig.feed("a", &[rec(&large, 2)]);
    let failure = rig.run().unwrap_err();
    assert_eq!(
        failure.to_string(),
        "processor `joined`, record a[3] offset 0: store `all`: a value has at most 1047552 bytes when encoded, this \
         one has 2097152"
    );
}

#[test]
fn a_record_goes_to_each_processor_in_turn_and_a_failure_of_one_undoes_all() {
    let diary = Diary::default();
    let says = |name: &'static str, fails: bool| {
        let note = diary.clone();
        script().on_record(move |counts, ctx, record| {
            let key = key(record)?;
            note.note(format!("{name} {key}"));
            counts.put(key, &1)?;
            ctx.send(&OUT, key, &1)?;
            if fails && key == "bad" {
                Err(Error::msg("no"))
            } else {
                Ok(())
            }
        })
    };
    let processors = vec![
        says("first", false).processor::<1>(),
        says("second", true).processor::<2>(),
        says("third", false).processor::<3>(),
    ];
    let mut rig = started(processors, policy(Policy::Skip));
    rig.feed("a", &[rec("good", 1), rec("bad", 2), rec("last", 3)]);
    rig.run().unwrap();
    assert_eq!(
        diary.read(),
        [
            "first good",
            "second good",
            "third good",
            "first bad",
            "second bad",
            "first last",
            "second last",
            "third last"
        ]
    );
    assert_eq!(
        keys(&rig.sent()),
        ["good", "good", "good", "last", "last", "last"]
    );
    for bad in [
        count::<1>(&rig, "bad"),
        count::<2>(&rig, "bad"),
        count::<3>(&rig, "bad"),
    ] {
        assert_eq!(bad, None);
    }
    assert_eq!(
        (count::<1>(&rig, "last"), count::<3>(&rig, "last")),
        (Some(1), Some(1))
    );
    assert_eq!(rig.task.counters().skipped, 1);
}

#[test]
fn a_failure_on_start_or_stop_ends_the_task_whatever_the_policy() {
    for policy in [Policy::Skip, Policy::Retry(Retry::default())] {
        let settings = super::policy(policy);
        let start = script().on_start(|counts, ctx| {
            counts.put("a", &1)?;
            ctx.send(&OUT, "a", &1)?;
            Err(Error::msg("not ready"))
        });
        let mut rig = Rig::of(vec![start.processor::<0>()], settings.clone());
        let failure = rig.start().unwrap_err();
        assert_eq!(
            (failure.to_string(), failure.next),
            ("processor `p0`, on start: not ready".into(), Next::Stop)
        );
        assert!(rig.task.prepare_commit().is_none());

        let mut rig = script().on_stop(|_, _| panic!("hm")).rig_with(settings);
        let failure = rig.stop().unwrap_err();
        assert_eq!(failure.to_string(), "processor `p0`, on stop: panicked: hm");
    }
}

#[test]
fn what_start_and_stop_send_and_store_is_committed() {
    let mut rig = script()
        .on_start(|counts, ctx| {
            counts.put("started", &1)?;
            Ok(ctx.send(&OUT, "start", &1)?)
        })
        .on_stop(|counts, ctx| {
            counts.put("stopped", &1)?;
            Ok(ctx.send(&OUT, "stop", &1)?)
        })
        .rig();
    let (sent, commit) = rig.commit().unwrap();
    assert_eq!(keys(&sent), ["start", "started"]);
    assert_eq!(sent[0].timestamp, Some(START.as_millis()));
    assert_eq!(commit.inputs, []);
    assert!(rig.commit().is_none());
    rig.stop().unwrap();
    assert_eq!(keys(&rig.commit().unwrap().0), ["stop", "stopped"]);
}
