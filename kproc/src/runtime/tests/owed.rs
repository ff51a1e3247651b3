//! What has not happened of what follows from an advance of stream time: it waits where positions are kept, for whoever goes
//! on from there.

use std::{
    borrow::Cow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use super::kit::*;
use crate::{
    Clock, Context, Partition, Policy, Processor, Record, Result, Retry, Table, Timer, TimerClock, Timestamp,
    Topic, TopicPartition,
    engine::factory,
    processor::{Declare, Start, StoreOptions},
    runtime::{Settings, Transactions},
    testing::exec::Executor,
};

const SECOND: Duration = Duration::from_secs(1);
const LINES: Topic<String, i64> = Topic::new("lines");

/// What is declared.
#[derive(Clone, Copy, PartialEq)]
enum Wants {
    Timer,
    Advances,
    Nothing,
}

/// Reads both topics, and notes what stream time makes it do.
#[derive(Clone)]
struct Notes {
    wants: Wants,
    /// What has happened: `at 5000`, or `not at 5000`.
    diary: Arc<Mutex<Vec<String>>>,
    /// How often it fails before it works.
    failures: Arc<AtomicU32>,
}

struct Noting(Table<String, i64>, Notes);

impl Noting {
    fn happens(&self, now: Timestamp) -> Result<()> {
        let fails = self
            .1
            .failures
            .try_update(Relaxed, Relaxed, |left| left.checked_sub(1))
            .is_ok();
        let not = if fails { "not " } else { "" };
        let line = format!("{not}at {}", now.as_millis());
        self.1.diary.lock().unwrap().push(line);
        if fails {
            return Err(crate::Error::msg("told to"));
        }
        Ok(())
    }
}

impl Processor for Noting {
    fn name() -> Cow<'static, str> {
        "noting".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.input(1, &LINES, Start::Earliest);
        to.store("t", StoreOptions::default(), &mut self.0);
        match self.1.wants {
            Wants::Timer => to.every(0, SECOND, TimerClock::Stream),
            Wants::Advances => to.handles_stream_time(),
            Wants::Nothing => {}
        }
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        Ok(self.0.put(key, &1)?)
    }

    async fn punctuate(&mut self, _: &mut Context<'_>, _: Timer, now: Timestamp) -> Result<()> {
        self.happens(now)
    }

    async fn stream_time(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.happens(ctx.stream_time().unwrap_or(Timestamp::EPOCH))
    }
}

struct Scene {
    world: World,
    notes: Notes,
    transactions: bool,
}

impl Scene {
    fn new(wants: Wants, transactions: bool) -> Self {
        let notes = Notes {
            wants,
            diary: Arc::default(),
            failures: Arc::default(),
        };
        Self {
            world: World::new(Executor::new(1), &[("words", 1), ("lines", 1)]),
            notes,
            transactions,
        }
    }

    /// One whose last record was at 100, and something is owed since one of 5000.
    fn owing(wants: Wants, transactions: bool) -> Self {
        let mut scene = Self::new(wants, transactions);
        scene.write("words", 100);
        scene.write("lines", 100);
        scene.runs();
        scene.diary();
        scene.write("words", 99);
        scene.write("lines", 5000);
        scene.notes.failures.store(1, Relaxed);
        let instance = scene.start();
        scene.world.wait(&instance).unwrap_err();
        assert_eq!(scene.diary(), ["not at 5000"]);
        scene
    }

    /// The value of these records is their timestamp.
    fn write(&self, topic: &str, at: i64) {
        self.world.write(topic, 0, &format!("k{at}"), at);
    }

    fn settings(&self) -> Settings {
        let mut settings = self.world.settings("a");
        settings.transactions = self.transactions.then_some(Transactions { timeout: 60 * SECOND });
        settings
    }

    fn start(&mut self) -> Instance {
        let settings = self.settings();
        self.start_with(settings)
    }

    fn start_with(&mut self, settings: Settings) -> Instance {
        let notes = self.notes.clone();
        let noting = factory(move || Noting(Table::default(), notes.clone()));
        self.world.start_app(settings, vec![noting])
    }

    /// An instance does what there is to do.
    fn runs(&mut self) {
        let instance = self.start();
        self.world.drain(&instance);
        assert_eq!(self.world.stop(&instance), Ok(()));
    }

    /// The group forgets its offsets in these topics.
    fn forget(&mut self, topics: &[&str]) {
        let place = |topic: &&str| (TopicPartition::new(*topic, Partition::new(0)), None);
        let forget = topics.iter().map(place).collect();
        self.world
            .admin(async |admin| admin.set_group_offsets(APP.into(), forget).await);
    }

    /// What was noted since.
    fn diary(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.diary.lock().unwrap())
    }
}

#[test]
fn what_is_owed_is_done_when_the_offsets_are_gone_and_the_state_tells_where_it_was() {
    for wants in [Wants::Timer, Wants::Advances] {
        for transactions in [false, true] {
            for lost in [&[][..], &["words"], &["lines"], &["words", "lines"]] {
                let mut scene = Scene::owing(wants, transactions);
                scene.forget(lost);
                scene.runs();
                assert_eq!(scene.diary(), ["at 5000"], "{lost:?}");
                // It is not owed any more; and stream time is what it was. The group knows again where it is, also if
                // there is nothing new.
                for new in [false, true] {
                    scene.forget(lost);
                    if new {
                        scene.write("words", 4999);
                    }
                    scene.runs();
                    assert_eq!(scene.diary(), [""; 0], "{lost:?}");
                }
            }
        }
    }
}

#[test]
fn what_was_done_is_not_owed_by_an_input_that_was_not_read_since() {
    for wants in [Wants::Timer, Wants::Advances] {
        for transactions in [false, true] {
            let mut scene = Scene::owing(wants, transactions);
            scene.write("words", 6000);
            scene.runs();
            assert_eq!(scene.diary(), ["at 5000", "at 6000"]);
            scene.runs();
            assert_eq!(scene.diary(), [""; 0]);
        }
    }
}

/// Else stream time would begin anew without a word, and what is owed would be forgotten.
#[test]
fn what_a_newer_version_has_committed_is_not_passed_over() {
    for (text, refused) in [
        ("v1 4000 later:x topic:", true),
        ("v2 4000", true),
        ("somebody else's", false),
    ] {
        let mut scene = Scene::owing(Wants::Timer, true);
        let (place, mut offset) = scene.world.cluster.offsets(APP).remove(0);
        offset.metadata = text.into();
        let command = format!(
            "--group {APP} --reset-offsets --topic {}:{} --to-offset {} --execute",
            place.topic, place.partition, offset.next
        );
        scene.world.cluster.commit(APP, place, offset);
        if !refused {
            scene.runs();
            continue;
        }
        let instance = scene.start();
        let error = scene.world.wait(&instance).unwrap_err().to_string();
        for part in [
            "lines[0]",
            "newer version of kproc",
            text,
            "run that version",
            &command,
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn nothing_is_drained_while_something_is_owed() {
    for wants in [Wants::Timer, Wants::Advances] {
        for transactions in [false, true] {
            let mut scene = Scene::new(wants, transactions);
            scene.write("words", 100);
            scene.runs();
            scene.diary();
            scene.write("words", 5000);
            scene.notes.failures.store(1, Relaxed);
            let mut settings = scene.settings();
            settings.task.policies.processing = Policy::Retry(Retry {
                backoff: 20 * SECOND,
                max_backoff: 20 * SECOND,
                ..Retry::default()
            });
            let before = scene.world.clock().now();
            let instance = scene.start_with(settings);
            scene.world.drain(&instance);
            assert_eq!(scene.diary(), ["not at 5000", "at 5000"]);
            assert!(scene.world.since(before) < 25 * SECOND);
            assert_eq!(scene.world.stop(&instance), Ok(()));
            scene.runs();
            assert_eq!(scene.diary(), [""; 0]);
        }
    }
}

#[test]
fn what_the_program_does_not_have_any_more_does_not_keep_it_from_being_drained() {
    for wants in [Wants::Timer, Wants::Advances] {
        let mut scene = Scene::owing(wants, true);
        scene.notes.wants = Wants::Nothing;
        scene.runs();
        scene.notes.wants = wants;
        scene.runs();
        assert_eq!(scene.diary(), [""; 0]);
    }
}
