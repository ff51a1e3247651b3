//! Transactions that go wrong in one way each: requests that are refused, lost or late, producers that are fenced. Each
//! record counts once all the same, and the cluster is asked as often as that takes and no more.

mod copies;
pub(super) mod script;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use self::script::{Act, Call, Script};
use super::kit::*;
use crate::{
    Clock, Context, Processor, Record, Result,
    cluster::{
        ClusterErrorKind as Kind,
        embedded::{Fault, Verb},
    },
    engine::factory,
    processor::{Declare, Start},
    runtime::{RunError, Settings, Transactions, sabotage::Sabotage},
    testing::exec::Executor,
};

const SECOND: Duration = Duration::from_secs(1);

/// A world whose requests fare as `play` says.
fn world(seed: u64, play: impl FnMut(Call) -> Act + Send + 'static) -> (World, Arc<Script>) {
    let executor = Executor::new(seed);
    let script = Script::new(executor.clock().clone(), play);
    let topics = [("words", 4), ("counts", 4)];
    (World::with_driver(executor, script.clone(), &topics), script)
}

/// One worker, whose transactions may take so long.
fn settings(world: &World, timeout: Duration) -> Settings {
    let mut settings = world.settings("a");
    settings.threads = 1;
    settings.transactions = Some(Transactions { timeout });
    settings
}

/// Writes `rounds` of a record for each partition, and lets each be committed before the next.
fn write_rounds(world: &mut World, instance: &Instance, rounds: std::ops::Range<i64>) {
    for round in rounds {
        for partition in 0..4 {
            world.write("words", partition, &format!("p{partition}"), round);
        }
        world.drain(instance);
    }
}

/// What an observer has seen: each count of each key once, in order.
fn assert_exact(world: &mut World, rounds: i64) {
    // The last markers are written after the answer.
    let clock = world.clock();
    world.finish(clock.sleep_until(clock.now() + SECOND));
    let mut seen: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for partition in 0..4 {
        for (key, count) in world.read("counts", partition) {
            seen.entry(key).or_default().push(count.unwrap());
        }
    }
    let all: Vec<i64> = (1..=rounds).collect();
    let expected = (0..4).map(|partition| (format!("p{partition}"), all.clone()));
    assert_eq!(seen, expected.collect());
}

/// Refuses the `numbers`th requests of a verb.
fn refuse(
    verb: Verb,
    numbers: std::ops::Range<usize>,
    kind: Kind,
) -> impl FnMut(Call) -> Act + Send + 'static {
    move |call| {
        if call.verb == verb && numbers.contains(&call.number) {
            Act::Fail(Fault::Refuse(kind))
        } else {
            Act::Go
        }
    }
}

/// Five rounds under exactly-once; returns what was asked of the cluster.
fn five_rounds(timeout: Duration, play: impl FnMut(Call) -> Act + Send + 'static) -> Arc<Script> {
    let (mut world, script) = world(5, play);
    let settings = settings(&world, timeout);
    let instance = world.start_with(settings, None);
    write_rounds(&mut world, &instance, 0..5);
    assert_eq!(world.stop(&instance), Ok(()));
    assert_exact(&mut world, 5);
    script
}

/// How many producers were initialised: one for the check, one for the worker, and those that took its place.
const UNDISTURBED: usize = 2;

#[test]
fn e02_an_abort_that_fails_makes_the_producer_anew() {
    let script = five_rounds(30 * SECOND, |call| match (call.verb, call.number) {
        // A send that never came to anything, and the abort of it.
        (Verb::ProduceInTransaction, 2) => Act::Fail(Fault::Refuse(Kind::AbortTransaction)),
        (Verb::EndTransaction, 2) => Act::Fail(Fault::Refuse(Kind::ProducerFailed)),
        _ => Act::Go,
    });
    assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED + 1);
}

#[test]
fn e04_an_init_without_an_answer_is_made_again_and_fences_nobody_for_long() {
    for fault in [Fault::LoseAnswer, Fault::LoseRequest] {
        // The worker's own, and its next one.
        let script = five_rounds(30 * SECOND, move |call| match (call.verb, call.number) {
            (Verb::InitTransactions, 1 | 2) => Act::Fail(fault),
            _ => Act::Go,
        });
        assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED + 2, "{fault:?}");
    }
    // Carried out when the next one was already made: that is fenced by the late one, once.
    let script = five_rounds(30 * SECOND, |call| match (call.verb, call.number) {
        (Verb::InitTransactions, 1) => Act::Late(3 * SECOND),
        (Verb::EndTransaction, 0) => Act::Fail(Fault::Refuse(Kind::Fenced)),
        _ => Act::Go,
    });
    assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED + 1);
}

#[test]
fn e05_a_commit_without_an_answer_is_asked_for_until_its_outcome_is_known() {
    for fault in [Fault::LoseAnswer, Fault::LoseRequest] {
        let mut since = None;
        let script = five_rounds(30 * SECOND, move |call| {
            if call.verb == Verb::EndTransaction && call.number >= 2 {
                let since = *since.get_or_insert(call.now);
                if call.now < since + 5 * SECOND {
                    return Act::Fail(fault);
                }
            }
            Act::Go
        });
        let commits = script.times(Verb::EndTransaction);
        assert!(
            commits.len() > 10,
            "{fault:?}: asked again and again: {commits:?}"
        );
        assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED, "{fault:?}");
    }
}

/// The coordinator is away for longer than the transaction may take: then the next producer hears what became of it.
#[test]
fn e05_a_commit_of_unknown_outcome_is_settled_by_the_next_producer() {
    for fault in [Fault::LoseAnswer, Fault::LoseRequest] {
        let script = five_rounds(2 * SECOND, move |call| {
            let away = Duration::from_millis(200)..5 * SECOND;
            if call.verb == Verb::EndTransaction && away.contains(&call.now) {
                return Act::Fail(fault);
            }
            Act::Go
        });
        assert!(script.count(Verb::InitTransactions) > UNDISTURBED, "{fault:?}");
    }
}

#[test]
fn e07_a_fence_at_the_third_of_five_batches_loses_nothing_and_repeats_nothing() {
    let script = five_rounds(30 * SECOND, refuse(Verb::EndTransaction, 2..3, Kind::Fenced));
    assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED + 1);
}

#[test]
fn e08_three_fencings_in_a_row_are_three_producers_and_no_loop() {
    let script = five_rounds(30 * SECOND, refuse(Verb::EndTransaction, 1..4, Kind::Fenced));
    let inits = script.times(Verb::InitTransactions);
    assert_eq!(inits.len(), UNDISTURBED + 3);
    let commits = script.times(Verb::EndTransaction);
    // The first is made anew at once, the others wait.
    for (number, wait) in [(2, 100), (3, 200)] {
        let waited = inits[UNDISTURBED - 1 + number].saturating_sub(commits[number]);
        assert!(waited >= Duration::from_millis(wait), "{number}: {waited:?}");
    }
}

/// Timed out by the brokers, again and again: the work goes on, and nobody else is blamed.
#[test]
fn e09_a_transaction_that_was_timed_out_is_made_again() {
    let script = five_rounds(2 * SECOND, |call| match call.verb {
        // Between its records and its end the transaction grows too old, eight times.
        Verb::SendOffsets if call.number < 8 => Act::Late(3 * SECOND),
        _ => Act::Go,
    });
    let inits = script.count(Verb::InitTransactions);
    assert_eq!(inits, UNDISTURBED + 8);
}

/// Replaced by a newer one, again and again: the instance ends, and says what is wrong.
#[test]
fn e09_a_producer_that_is_replaced_again_and_again_ends_the_instance() {
    let (mut world, script) = world(5, refuse(Verb::EndTransaction, 2..1000, Kind::Fenced));
    let settings = settings(&world, 30 * SECOND);
    let instance = world.start_with(settings, None);
    write_rounds(&mut world, &instance, 0..2);
    world.write("words", 0, "p0", 2);
    let error = world.wait(&instance).unwrap_err();
    let RunError::Fenced { id, times, .. } = &error else {
        panic!("{error:?}")
    };
    assert!(id.starts_with("app-") && *times == 6, "{error:?}");
    for part in [id, "6 times", "clone", "--state-dir", ".instance"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    assert!(script.count(Verb::InitTransactions) <= UNDISTURBED + 6);
}

#[test]
fn e10_a_commit_waits_for_as_long_as_its_transaction_lives() {
    let script = five_rounds(120 * SECOND, |call| match (call.verb, call.number) {
        (Verb::EndTransaction, 2) => Act::Late(70 * SECOND),
        _ => Act::Go,
    });
    assert_eq!(script.count(Verb::EndTransaction), 5);
    assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED);
}

#[test]
fn e11_an_init_that_always_fails_is_tried_at_growing_intervals_and_not_for_ever() {
    let (mut world, script) = world(5, refuse(Verb::InitTransactions, 0..1000, Kind::Retriable));
    let settings = settings(&world, 30 * SECOND);
    world.write("words", 0, "p0", 0);
    let started = world.clock().now();
    let instance = world.start_with(settings, None);
    let error = world.wait(&instance).unwrap_err();
    assert!(error.to_string().contains("cannot begin transactions"), "{error}");
    let took = world.since(started);
    assert!(took > 300 * SECOND && took < 400 * SECOND, "{took:?}");
    let inits = script.times(Verb::InitTransactions);
    assert!(inits.len() <= 42, "{inits:?}");
    let late = &inits[inits.len() - 10..];
    assert!(
        late.windows(2).all(|pair| pair[1] >= pair[0] + 10 * SECOND),
        "{late:?}"
    );
}

/// What was fenced decides, not where: the partitions are given back, and the instance goes on with the others.
#[test]
fn e15_a_fence_during_a_revocation_ends_nobody() {
    for kind in [
        Kind::Fenced,
        Kind::AbortTransaction,
        Kind::Unknown,
        Kind::ProducerFailed,
    ] {
        let fence = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let armed = fence.clone();
        let (mut world, script) = world(7, move |call| {
            let now =
                call.verb == Verb::EndTransaction && armed.swap(false, std::sync::atomic::Ordering::SeqCst);
            if now {
                Act::Fail(Fault::Refuse(kind))
            } else {
                Act::Go
            }
        });
        let mut settings = settings(&world, 30 * SECOND);
        settings.commit_interval = 600 * SECOND;
        let first = world.start_with(settings.clone(), None);
        write_rounds(&mut world, &first, 0..2);
        // Not committed before the revocation.
        for partition in 0..4 {
            world.write("words", partition, &format!("p{partition}"), 2);
        }
        world.until("all are processed", |world| world.diary.lines().len() == 12);
        fence.store(true, std::sync::atomic::Ordering::SeqCst);
        settings.state_dir = world.directory.path().join("b");
        settings.commit_interval = Duration::from_millis(100);
        let second = world.start_with(settings, None);
        let fenced = |_: &World| !fence.load(std::sync::atomic::Ordering::SeqCst);
        world.until("it is fenced at the revocation", fenced);
        world.drain(&first);
        write_rounds(&mut world, &first, 3..4);
        let then = world.clock().now();
        assert_eq!(world.stop(&first), Ok(()), "{kind:?}");
        assert_eq!(world.stop(&second), Ok(()), "{kind:?}");
        assert_exact(&mut world, 4);
        assert!(
            script.count(Verb::InitTransactions) <= 2 * UNDISTURBED + 1,
            "{kind:?}"
        );
        assert!(
            then < 60 * SECOND,
            "{kind:?}: nobody waits for a time-out: {then:?}"
        );
    }
}

/// A process stands still until others have its partitions and have done its work; then it goes on, and commits before it
/// hears of that. Brokers would let it: it is up to date by then. Its own gate does not.
#[test]
fn a_partition_that_was_lost_is_not_committed_with_fresh_proof() {
    for planted in [None, Some(Sabotage::FreshMetadata)] {
        let (mut world, _) = world(5, |_| Act::Go);
        let mut settings = settings(&world, 30 * SECOND);
        settings.sabotage = planted;
        let frozen = world.start_with(settings.clone(), None);
        write_rounds(&mut world, &frozen, 0..2);
        for partition in 0..4 {
            world.write("words", partition, &format!("p{partition}"), 2);
        }
        let processed = |world: &World| world.diary.lines().len() == 12;
        world.until("the last round is processed", processed);
        world.freeze(&frozen);
        settings.state_dir = world.directory.path().join("b");
        let other = world.start_with(settings, None);
        world.drain(&other);
        world.thaw(&frozen);
        write_rounds(&mut world, &other, 3..4);
        assert_eq!(world.stop(&frozen), Ok(()));
        assert_eq!(world.stop(&other), Ok(()));
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert_exact(&mut world, 4);
        }));
        assert_eq!(checked.is_ok(), planted.is_none(), "{planted:?}");
    }
}

/// What does not fit is told before anything is joined, with all else that does not.
#[test]
fn e06_a_time_out_that_the_brokers_do_not_allow_is_told_at_the_start() {
    let (executor, topics) = (Executor::new(5), [("words", 4)]);
    let mut world = World::new(executor, &topics);
    let settings = settings(&world, 901 * SECOND);
    let instance = world.start_with(settings, None);
    let RunError::Check(faults) = world.wait(&instance).unwrap_err() else {
        panic!("it is no fault of the check")
    };
    let faults = faults.join("; ");
    for part in ["`counts`", "`transaction_timeout`", "transaction.max.timeout.ms"] {
        assert!(faults.contains(part), "{part}: {faults}");
    }
    let members = world.admin(async |admin| admin.group_members(APP.into()).await);
    assert!(members.is_empty());
}

/// Handlers that take longer together, and alone, than a transaction may: it begins when they have ended.
#[test]
fn e06_handlers_are_not_part_of_a_transaction() {
    let (mut world, script) = world(5, |_| Act::Go);
    let mut settings = settings(&world, 2 * SECOND);
    settings.commit_interval = 20 * SECOND;
    for number in 0..20 {
        world.write("words", 0, "p0", number);
    }
    let slow = SlowCount {
        clock: world.clock(),
        pause: Duration::from_millis(2500),
    };
    let instance = world.start_app(settings, vec![factory(move || slow.clone())]);
    world.drain(&instance);
    assert_eq!(world.stop(&instance), Ok(()));
    let sent: Vec<i64> = world
        .read("counts", 0)
        .into_iter()
        .filter_map(|row| row.1)
        .collect();
    assert_eq!(sent, (0..20).collect::<Vec<_>>());
    assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED);
    // By interval, though the batch was not done: 50 seconds in all.
    assert!(
        script.count(Verb::EndTransaction) >= 3,
        "{}",
        script.count(Verb::EndTransaction)
    );
}

/// Sends what it gets, slowly.
#[derive(Clone)]
struct SlowCount {
    clock: crate::testing::clock::SimClock,
    pause: Duration,
}

impl Processor for SlowCount {
    fn name() -> std::borrow::Cow<'static, str> {
        "slow".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&COUNTS);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        self.clock.sleep_until(self.clock.now() + self.pause).await;
        ctx.message(&COUNTS, "k", &(record.offset.get() as i64))
            .partition(record.partition)
            .send()?;
        Ok(())
    }
}

/// Passes over all that it gets.
#[derive(Clone)]
struct Nothing;

impl Processor for Nothing {
    fn name() -> std::borrow::Cow<'static, str> {
        "nothing".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.output(&COUNTS);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn e01_where_nothing_is_sent_there_is_no_transaction_and_offsets_go_on() {
    let (mut world, script) = world(5, |_| Act::Go);
    let settings = settings(&world, 30 * SECOND);
    let instance = world.start_app(settings, vec![factory(|| Nothing)]);
    for round in 1..=3 {
        write_rounds(&mut world, &instance, round..round + 1);
        // One request for all partitions of the worker, once an interval at most.
        let offsets = world.admin(async |admin| admin.group_offsets(APP.into()).await);
        let next: Vec<u64> = offsets.iter().map(|(_, offset)| offset.next.get()).collect();
        assert_eq!(next, [round as u64; 4]);
    }
    let commits = script.count(Verb::Commit);
    assert!((3..=12).contains(&commits), "{commits}");
    // Nothing new, nothing to commit.
    let clock = world.clock();
    world.finish(clock.sleep_until(clock.now() + 10 * SECOND));
    assert_eq!(script.count(Verb::Commit), commits);
    assert_eq!(world.stop(&instance), Ok(()));
    for verb in [
        Verb::ProduceInTransaction,
        Verb::SendOffsets,
        Verb::EndTransaction,
    ] {
        assert_eq!(script.count(verb), 0, "{verb:?}");
    }
    assert_eq!(script.count(Verb::InitTransactions), UNDISTURBED);
}
