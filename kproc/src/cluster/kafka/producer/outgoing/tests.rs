use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::atomic::Ordering::Relaxed,
    time::Duration,
};

use super::*;
use crate::{cluster::ClusterErrorKind, engine::rig::HandClock, outbox::RawRecord};

/// librdkafka, as far as it is needed, with room for so many records; and the thread that listens, which always comes when
/// it is least welcome.
#[derive(Default)]
struct Script {
    room: usize,
    unwritten: Cell<usize>,
    written: RefCell<Vec<String>>,
    /// What happens after the next record that is taken or refused.
    then: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Sink for Rc<Script> {
    type Topics = ();

    fn unwritten(&self) -> usize {
        self.unwritten.get()
    }

    fn produce(
        &self,
        (): &mut (),
        _: &mut Option<usize>,
        record: &OutgoingRecord<'_>,
    ) -> Result<std::result::Result<(), NativeError>> {
        let full = self.unwritten.get() >= self.room;
        if !full {
            let key = String::from_utf8_lossy(record.key.unwrap_or_default());
            self.written.borrow_mut().push(key.into_owned());
            self.unwritten.set(self.unwritten.get() + 1);
        }
        if let Some(then) = self.then.take() {
            then();
        }
        Ok(if full {
            Err(NativeError::of(Code::RD_KAFKA_RESP_ERR__QUEUE_FULL))
        } else {
            Ok(())
        })
    }
}

impl Script {
    fn with_room(room: usize) -> Rc<Self> {
        Rc::new(Self {
            room,
            ..Self::default()
        })
    }

    /// After the next record, all that is on its way is written, and the listener hears of that.
    fn hears_of_all(self: &Rc<Self>, outgoing: &Rc<Outgoing<Rc<Self>>>) {
        let (script, outgoing) = (self.clone(), outgoing.clone());
        let hear = move || {
            script.unwritten.set(0);
            outgoing.hand_over(When::Good, |error| panic!("{error}"));
        };
        self.then.replace(Some(Box::new(hear)));
    }
}

fn add(outgoing: &Outgoing<Rc<Script>>, keys: &[&str]) {
    let mut outbox = Outbox::default();
    for key in keys {
        let record = RawRecord {
            key: Some(key.as_bytes()),
            ..RawRecord::default()
        };
        outbox.push_raw(&"topic".into(), &record);
    }
    outgoing.add(&mut outbox);
}

/// Who hears of the last record on its way, while somebody hands over and is about to stop, finds no time to look at what
/// is left.
#[test]
fn what_is_left_when_the_last_is_written_meanwhile_is_handed_over() {
    let script = Script::with_room(10);
    // Enough for now is one record.
    let outgoing = Rc::new(Outgoing::new(script.clone(), None, 1, None));
    add(&outgoing, &["a", "b", "c"]);
    script.hears_of_all(&outgoing);
    outgoing.hand_over(When::Good, |error| panic!("{error}"));
    assert_eq!(*script.written.borrow(), ["a", "b"]);
    assert_eq!(script.unwritten.get(), 1, "of which the listener will hear");
}

#[test]
fn a_record_that_met_a_full_queue_is_taken_when_that_is_empty_a_moment_later() {
    let script = Script::with_room(1);
    let outgoing = Rc::new(Outgoing::new(script.clone(), None, 1000, None));
    add(&outgoing, &["a"]);
    outgoing.hand_over(When::Good, |error| panic!("{error}"));
    add(&outgoing, &["b"]);
    script.hears_of_all(&outgoing);
    outgoing.hand_over(When::Now, |error| panic!("{error}"));
    assert_eq!(*script.written.borrow(), ["a", "b"]);
    assert!(outgoing.is_empty());
}

#[test]
fn what_finds_no_room_in_an_empty_queue_is_too_large() {
    let outgoing = Outgoing::new(Script::with_room(0), None, 1000, None);
    add(&outgoing, &["a"]);
    let mut told = Vec::new();
    outgoing.hand_over(When::Now, |error| told.push(error.kind));
    assert_eq!(told, [ClusterErrorKind::RecordTooLarge]);
    assert!(outgoing.is_empty());
}

/// What waits while nothing goes on is refused; what comes after that is not, nor what comes after a rest.
#[test]
fn what_has_waited_through_a_stand_still_is_refused() {
    let clock = Arc::new(HandClock::default());
    let second = Duration::from_secs(1);
    let passes = |time: Duration| clock.now.fetch_add(time.as_millis() as i64, Relaxed);
    let script = Script::with_room(100);
    let answers = Answers::new(2 * second, clock.clone());
    let mut outgoing = Outgoing::new(script.clone(), None, 1, Some(answers));
    let told = RefCell::new(Vec::new());
    let hear = |outgoing: &Outgoing<_>| {
        script.unwritten.set(0);
        outgoing.heard();
        outgoing.hand_over(When::Good, |error| told.borrow_mut().push(error.kind));
    };
    passes(10 * second);
    add(&outgoing, &["a", "b", "c", "d"]);
    outgoing.hand_over(When::Good, |error| panic!("{error}"));
    // Slow, and no stand-still.
    for _ in 0..2 {
        passes(2 * second);
        hear(&outgoing);
    }
    assert_eq!(*script.written.borrow(), ["a", "b", "c"]);
    passes(3 * second);
    hear(&outgoing);
    assert_eq!(told.take(), [ClusterErrorKind::Retriable]);
    assert!(outgoing.is_empty());
    passes(10 * second);
    add(&outgoing, &["e"]);
    hear(&outgoing);
    assert_eq!(*script.written.borrow(), ["a", "b", "c", "e"]);
    // In the middle of handing over.
    let stands_still = clock.clone();
    add(&outgoing, &["f"]);
    add(&outgoing, &["g"]);
    outgoing.limit = 100_000;
    script.then.replace(Some(Box::new(move || {
        _ = stands_still.now.fetch_add(3000, Relaxed);
    })));
    hear(&outgoing);
    assert_eq!(*script.written.borrow(), ["a", "b", "c", "e", "f"]);
    assert_eq!(told.take(), [ClusterErrorKind::Retriable]);
    // And of a parcel.
    script.unwritten.set(0);
    let stands_still = clock.clone();
    add(&outgoing, &["h"; 2 * UNSEEN as usize]);
    script.then.replace(Some(Box::new(move || {
        _ = stands_still.now.fetch_add(3000, Relaxed);
    })));
    script.written.take();
    outgoing.hand_over(When::Good, |error| told.borrow_mut().push(error.kind));
    assert_eq!(*script.written.borrow(), ["h"; UNSEEN as usize]);
    assert_eq!(told.take(), [ClusterErrorKind::Retriable]);
}

/// Who is cut off goes on sending, for a while, and hears of all kinds of things, but not that anything is written.
#[test]
fn what_has_waited_while_brokers_did_not_answer_is_refused() {
    let second = Duration::from_secs(1);
    for (seconds, written) in [(2, &["a", "b", "b", "b", "c"][..]), (3, &["a", "b", "c"])] {
        let clock = Arc::new(HandClock::default());
        let script = Script::with_room(10);
        let answers = Answers::new(2 * second, clock.clone());
        let outgoing = Outgoing::new(script.clone(), None, 1000, Some(answers));
        let told = RefCell::new(Vec::new());
        let answered = || {
            script.unwritten.set(0);
            outgoing.heard();
            outgoing.hand_over(When::Good, |error| told.borrow_mut().push(error.kind));
        };
        add(&outgoing, &["a"]);
        outgoing.hand_over(When::Good, |error| panic!("{error}"));
        for _ in 0..seconds {
            add(&outgoing, &["b"]);
            outgoing.hand_over(When::Good, |error| panic!("{error}"));
            _ = clock.now.fetch_add(1000, Relaxed);
        }
        add(&outgoing, &["b"]);
        answered();
        add(&outgoing, &["c"]);
        answered();
        assert_eq!(*script.written.borrow(), *written, "after {seconds} s");
        assert!(
            told.take()
                .iter()
                .all(|kind| *kind == ClusterErrorKind::Retriable)
        );
    }
}

/// Nothing of an aborted transaction is handed over after the abort, though its records were half-way.
#[test]
fn what_was_forgotten_is_not_handed_over_by_who_comes_later() {
    let script = Script::with_room(1);
    let outgoing = Rc::new(Outgoing::new(script.clone(), None, 1000, None));
    add(&outgoing, &["a", "b"]);
    outgoing.hand_over(When::Good, |error| panic!("{error}"));
    outgoing.forget();
    script.unwritten.set(0);
    outgoing.hand_over(When::Good, |error| panic!("{error}"));
    add(&outgoing, &["c"]);
    outgoing.hand_over(When::Good, |error| panic!("{error}"));
    assert_eq!(*script.written.borrow(), ["a", "c"]);
}
