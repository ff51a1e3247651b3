//! Handlers that wait: their task waits with them, and nothing else.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context as Cx, Poll, Waker},
};

use super::*;

/// A gate that opens when the test says so.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<bool>>);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
    }

    /// Waits until it is open, and closes it.
    async fn pass(&self) {
        poll_fn(|_| {
            if std::mem::take(&mut *self.0.lock().unwrap()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// Waits at the gate in the middle of each record, with the record, the context and an iterator of its store
/// borrowed.
struct Slow {
    gate: Gate,
    diary: Diary,
    counts: Counts,
}

impl Processor for Slow {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &A, Start::Earliest);
        to.store("counts", StoreOptions::default(), &mut self.counts);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = key(record)?;
        ctx.send(&OUT, key, &1)?;
        self.counts.put(key, &1)?;
        self.diary.note(format!("begin {key}"));
        let mut entries = self.counts.iter();
        let (first, _) = entries.next().unwrap()?;
        self.gate.pass().await;
        self.diary.note(format!("{} of {first}", ctx.offset().unwrap()));
        drop(entries);
        self.diary.note(format!("end {key}"));
        assert_ne!(key, "bad", "after the wait");
        ctx.send(&OUT, key, &2)?;
        Ok(())
    }
}

/// Processor `slow`, and `p1` which notes what it gets after it.
fn setup(settings: TaskSettings) -> (Rig, Gate, Diary) {
    let (gate, diary) = (Gate::default(), Diary::default());
    let (g, d, note) = (gate.clone(), diary.clone(), diary.clone());
    let slow = factory(move || Slow {
        gate: g.clone(),
        diary: d.clone(),
        counts: Counts::default(),
    });
    let after = script()
        .every(1_000, TimerClock::Wall)
        .on_record(move |_, ctx, record| {
            note.note(format!(
                "after {} wall {}",
                key(record)?,
                ctx.wall_time().since(START).as_millis()
            ));
            Ok(())
        });
    let note = diary.clone();
    let after = after.on_timer(move |_, _, _, now| {
        note.note(format!("timer {}", now.since(START).as_millis()));
        Ok(())
    });
    let rig = started(vec![slow, after.processor::<1>()], settings);
    (rig, gate, diary)
}

#[test]
fn a_waiting_handler_holds_its_task_and_keeps_what_it_has_borrowed() {
    let (mut rig, gate, diary) = setup(TaskSettings::default());
    rig.feed("a", &[rec("1", 1), rec("2", 2)]);
    let Rig {
        task, rest, clock, ..
    } = &mut rig;
    {
        let mut run = pin!(task.run(rest, usize::MAX, clock));
        let mut cx = Cx::from_waker(Waker::noop());
        let mut poll = || run.as_mut().poll(&mut cx).map(Result::unwrap);
        assert_eq!(poll(), Poll::Pending);
        assert_eq!(poll(), Poll::Pending, "polled for nothing");
        assert_eq!(diary.read(), ["begin 1"]);
        clock.wall.fetch_add(1_500, std::sync::atomic::Ordering::Relaxed);
        gate.open();
        // It goes on to the second record, past the timer that has become due meanwhile.
        assert_eq!(poll(), Poll::Pending);
        assert_eq!(
            diary.read(),
            ["0 of 1", "end 1", "after 1 wall 0", "timer 1500", "begin 2"]
        );
        gate.open();
        assert_eq!(poll(), Poll::Ready(Pause::Starved));
        assert_eq!(diary.read(), ["1 of 1", "end 2", "after 2 wall 1500"]);
    }
    assert_eq!(keys(&rig.sent()), ["1", "1", "2", "2"]);
}

#[test]
fn a_panic_after_a_wait_is_caught_with_its_record_and_undone() {
    let (mut rig, gate, diary) = setup(TaskSettings::default());
    rig.feed("a", &[rec("1", 1), rec("bad", 2)]);
    {
        let Rig {
            task, rest, clock, ..
        } = &mut rig;
        let mut run = pin!(task.run(rest, usize::MAX, clock));
        let mut cx = Cx::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut cx).is_pending());
        gate.open();
        assert!(run.as_mut().poll(&mut cx).is_pending());
        gate.open();
        let Poll::Ready(Err(failure)) = run.as_mut().poll(&mut cx) else {
            panic!("it must fail")
        };
        assert!(
            failure
                .to_string()
                .starts_with("processor `slow`, record a[3] offset 1: panicked: "),
            "{failure}"
        );
        assert!(failure.to_string().contains("after the wait"), "{failure}");
    }
    assert_eq!(diary.read().last().unwrap(), "end bad");
    assert_eq!(keys(&rig.sent()), ["1", "1"]);
    assert_eq!(rig.processor::<Slow>().counts.get("bad").unwrap(), None);
    assert_eq!(rig.commit().unwrap().1.inputs, [(0, Offset::new(1))]);
}

#[test]
fn a_task_whose_waiting_handler_is_dropped_falls_back_to_its_last_commit() {
    let (mut rig, gate, diary) = setup(TaskSettings::default());
    rig.feed("a", &[rec("1", 1)]);
    {
        let Rig {
            task, rest, clock, ..
        } = &mut rig;
        let mut run = pin!(task.run(rest, usize::MAX, clock));
        assert!(run.as_mut().poll(&mut Cx::from_waker(Waker::noop())).is_pending());
    }
    rig.fall_back();
    assert_eq!(rig.processor::<Slow>().counts.get("1").unwrap(), None);
    rig.feed("a", &[rec("1", 1)]);
    gate.open();
    rig.run().unwrap();
    assert_eq!(diary.read().iter().filter(|line| *line == "end 1").count(), 1);
}
