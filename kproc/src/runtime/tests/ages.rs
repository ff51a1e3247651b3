//! State that was left alone for long: what its changelog may have forgotten meanwhile is not missed, and nothing is
//! restored that did not have to be.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{
    kit::*,
    transactions::script::{Act, Call, Script},
};
use crate::{
    Clock, Context, Processor, Record, Result, Table,
    cluster::{
        ClusterErrorKind,
        embedded::{Fault, Verb},
    },
    engine::factory,
    processor::{Declare, Start, StoreOptions},
    runtime::{Restored, RunError, Settings, TaskPhase, TaskStatus, Transactions},
    testing::exec::Executor,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A world of one partition, whose changelog keeps deletions for so long.
fn world(kept: Duration) -> World {
    seeded(1, kept)
}

fn seeded(seed: u64, kept: Duration) -> World {
    let mut world = World::new(Executor::new(seed), &[("words", 1), ("counts", 1)]);
    let kept = kept.as_millis().to_string();
    let config = [("cleanup.policy", "compact"), ("delete.retention.ms", &*kept)];
    world.create(CHANGELOG, 1, &config);
    world
}

fn settings(world: &World, slot: &str, transactions: bool) -> Settings {
    let mut settings = world.settings(slot);
    settings.commit_interval = SECOND;
    settings.session_timeout = 10 * SECOND;
    settings.transactions = transactions.then_some(Transactions { timeout: MINUTE });
    settings
}

fn write(world: &mut World, keys: i64) {
    for number in 0..keys {
        world.write("words", 0, &format!("k{number}"), number);
    }
}

/// How many records were restored, and how many entries there were then, once that is known.
fn restored(world: &mut World, instance: &Instance) -> (u64, u64) {
    let known = |task: &TaskStatus| Some((task.restored?.replayed, task.restored?.entries));
    let find = || instance.running.status().tasks.first().and_then(known);
    world.until("it is restored", |_| find().is_some());
    find().unwrap()
}

/// Counts one record of each of so many keys, with state in `slot`. How many records were restored before.
fn count_with(world: &mut World, settings: Settings, keys: i64) -> u64 {
    write(world, keys);
    let instance = world.start_with(settings, None);
    world.drain(&instance);
    let (replayed, _) = restored(world, &instance);
    assert_eq!(world.stop(&instance), Ok(()));
    replayed
}

fn count(world: &mut World, slot: &str, keys: i64) -> u64 {
    let settings = settings(world, slot, false);
    count_with(world, settings, keys)
}

fn pass(world: &mut World, time: Duration) {
    let clock = world.clock();
    let end = clock.now() + time;
    while clock.now() < end {
        let next = end.min(clock.now() + 5 * MINUTE);
        world.finish(clock.sleep_until(next));
    }
}

fn jump(world: &World, time: Duration) {
    world.clock().jump_wall(time.as_millis() as i64);
}

/// Whatever is said of the topic, and not only Kafka's default of a day.
#[test]
fn what_changelogs_may_have_forgotten_meanwhile_is_restored_from_their_beginning() {
    for (kept, passed, from_the_beginning) in [
        (2 * MINUTE, MINUTE, false),
        (MINUTE, 2 * MINUTE, true),
        (3 * DAY, 2 * DAY, false),
        (3 * DAY, 4 * DAY, true),
    ] {
        let mut world = world(kept);
        count(&mut world, "a", 20);
        count(&mut world, "b", 5);
        jump(&world, passed);
        let replayed = count(&mut world, "a", 1);
        let missed = if from_the_beginning { 25 } else { 5 };
        assert_eq!(replayed, missed, "{passed:?}, {kept:?} kept");
        // From then on it is as good as any.
        jump(&world, kept / 2);
        count(&mut world, "b", 1);
        assert_eq!(count(&mut world, "a", 1), 1);
    }
}

#[test]
fn a_key_that_was_deleted_while_an_instance_was_away_does_not_come_back() {
    for passed in [2 * DAY, 8 * DAY] {
        let mut world = world(7 * DAY);
        count(&mut world, "a", 2);
        // `k0` comes to two, and is forgotten.
        let elsewhere = settings(&world, "b", false);
        world.write("words", 0, "k0", 0);
        let instance = world.start_forgetful(elsewhere, None, 2);
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        // The first cleaning finds the deletion, another one removes it, if that is long enough ago.
        world.cluster.compact();
        jump(&world, passed);
        world.cluster.compact();
        let left = world.read(CHANGELOG, 0);
        assert_eq!(left.len(), if passed < 7 * DAY { 2 } else { 1 }, "{left:?}");
        count(&mut world, "a", 1);
        assert_eq!(world.last_values("counts", 1)["k0"], 1, "after {passed:?}");
    }
}

#[test]
fn an_old_state_that_has_missed_nothing_is_kept() {
    for transactions in [false, true] {
        let mut world = world(DAY);
        let slot = settings(&world, "a", transactions);
        count_with(&mut world, slot.clone(), 20);
        for _ in 0..3 {
            jump(&world, 3 * DAY);
            let instance = world.start_with(slot.clone(), None);
            assert_eq!(restored(&mut world, &instance), (0, 20), "{transactions}");
            assert_eq!(world.stop(&instance), Ok(()));
        }
    }
}

/// Two stores, of which one changes seldom.
#[derive(Default)]
struct Two {
    busy: Table<String, i64>,
    quiet: Table<String, i64>,
}

impl Processor for Two {
    fn name() -> std::borrow::Cow<'static, str> {
        "two".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &WORDS, Start::Earliest);
        to.store("busy", StoreOptions::default(), &mut self.busy);
        to.store("quiet", StoreOptions::default(), &mut self.quiet);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = std::str::from_utf8(record.key.unwrap_or_default())?;
        *self.busy.entry(key)?.or_default() += 1;
        if record.offset.get() < 20 {
            *self.quiet.entry(key)?.or_default() += 1;
        }
        Ok(())
    }
}

#[test]
fn only_the_store_that_may_have_missed_something_is_restored_from_the_beginning() {
    let mut world = World::new(Executor::new(1), &[("words", 1)]);
    let run = |world: &mut World, slot, keys| {
        write(world, keys);
        let settings = settings(world, slot, false);
        let instance = world.start_app(settings, vec![factory(Two::default)]);
        world.drain(&instance);
        let restored = restored(world, &instance);
        assert_eq!(world.stop(&instance), Ok(()));
        restored
    };
    run(&mut world, "a", 20);
    run(&mut world, "b", 5);
    jump(&world, 2 * DAY);
    // All that was ever written of the one, and nothing of the other.
    assert_eq!(run(&mut world, "a", 0), (20 + 5, 40));
}

/// A task that rests is as good as one that works. Both with and without transactions, the group is asked.
#[test]
fn a_state_grows_no_older_while_its_task_rests() {
    for transactions in [false, true] {
        let mut world = world(10 * MINUTE);
        let (a, b) = (
            settings(&world, "a", transactions),
            settings(&world, "b", transactions),
        );
        write(&mut world, 20);
        let instance = world.start_with(a.clone(), None);
        world.drain(&instance);
        pass(&mut world, 30 * MINUTE);
        assert_eq!(world.stop(&instance), Ok(()));
        count_with(&mut world, b.clone(), 5);
        pass(&mut world, 5 * MINUTE);
        assert_eq!(count_with(&mut world, a.clone(), 1), 5, "{transactions}");
        // Nobody has said so in this time.
        count_with(&mut world, b, 1);
        pass(&mut world, 30 * MINUTE);
        assert_eq!(count_with(&mut world, a, 1), 27, "{transactions}");
    }
}

/// Of the tasks that the group is asked about together, one is lost.
#[test]
fn a_state_grows_no_older_although_another_task_is_lost() {
    let executor = Executor::new(1);
    let loses = Arc::new(AtomicBool::new(false));
    let (asked, mut last, mut round) = (loses.clone(), Duration::ZERO, 0);
    // Whoever asks about both, and then about one of them.
    let play = move |call: Call| {
        if call.verb != Verb::Commit || !asked.load(Relaxed) {
            return Act::Go;
        }
        let same = call.now < std::mem::replace(&mut last, call.now) + 10 * SECOND;
        round = if same { round + 1 } else { 0 };
        if round < 2 {
            return Act::Fail(Fault::Refuse(ClusterErrorKind::OwnershipLost));
        }
        Act::Go
    };
    let script = Script::new(executor.clock().clone(), play);
    let mut world = World::with_driver(executor, script, &[("words", 2), ("counts", 2)]);
    let config = [("cleanup.policy", "compact"), ("delete.retention.ms", "600000")];
    world.create(CHANGELOG, 2, &config);
    let write = |world: &mut World| {
        for number in 0..20 {
            world.write("words", number % 2, &format!("k{number}"), i64::from(number));
        }
    };
    let mut resting = settings(&world, "a", false);
    resting.threads = 1;
    // So that both are due at the same one.
    resting.commit_interval = 25 * SECOND;
    write(&mut world);
    let instance = world.start_with(resting.clone(), None);
    world.drain(&instance);
    loses.store(true, Relaxed);
    pass(&mut world, 30 * MINUTE);
    loses.store(false, Relaxed);
    assert_eq!(world.stop(&instance), Ok(()));
    write(&mut world);
    let elsewhere = settings(&world, "b", false);
    count_with(&mut world, elsewhere, 0);
    let instance = world.start_with(resting, None);
    let replayed = || {
        let tasks = instance.running.status().tasks;
        let replayed = tasks.iter().filter_map(|task| Some(task.restored?.replayed));
        replayed.collect::<Vec<_>>()
    };
    world.until("both are restored", |_| replayed().len() == 2);
    let mut replayed = replayed();
    replayed.sort_unstable();
    assert_eq!(replayed, [10, 20]);
    assert_eq!(world.stop(&instance), Ok(()));
}

/// A process that stood still takes its state for up to date, until it hears that its partition was somebody else's.
#[test]
fn a_state_that_others_have_gone_on_with_meanwhile_is_not_taken_for_young() {
    // It may hear of that before or after it is time to note that the state is up to date.
    for seed in 0..8 {
        let mut world = seeded(seed, 10 * MINUTE);
        write(&mut world, 20);
        let a = settings(&world, "a", false);
        let first = world.start_with(a, None);
        world.drain(&first);
        world.freeze(&first);
        count(&mut world, "b", 5);
        pass(&mut world, 30 * MINUTE);
        world.thaw(&first);
        world.until("it has its partition again", |_| {
            let tasks = first.running.status().tasks;
            let news = |restored: Restored| restored.replayed > 0;
            tasks.iter().any(|task| task.restored.is_some_and(news))
        });
        assert_eq!(restored(&mut world, &first), (25, 20), "seed {seed}");
        assert_eq!(world.stop(&first), Ok(()));
    }
}

#[test]
fn a_wall_clock_that_was_set_back_does_not_hide_how_old_a_state_is() {
    let mut world = world(DAY);
    count(&mut world, "a", 20);
    count(&mut world, "b", 5);
    jump(&world, 3 * DAY);
    count(&mut world, "b", 1);
    world
        .clock()
        .jump_wall(-((3 * DAY + 2 * 60 * MINUTE).as_millis() as i64));
    assert_eq!(count(&mut world, "a", 1), 26);
}

#[test]
fn a_restore_that_takes_longer_than_deletions_are_kept_is_not_trusted() {
    let mut world = world(10 * SECOND);
    count(&mut world, "a", 20);
    let mut slow = settings(&world, "elsewhere", false);
    slow.restore_batch = 1;
    write(&mut world, 1);
    let instance = world.start_with(slow, None);
    let mut last = 0;
    world.until("it gives up", |world| {
        let status = instance.running.status();
        if let Some(TaskPhase::Restoring { done, .. }) = status.tasks.first().map(|task| task.phase)
            && done != last
        {
            last = done;
            jump(world, SECOND);
        }
        status.failure.is_some()
    });
    let Err(RunError::State { reason, .. }) = world.wait(&instance) else {
        panic!("it is no matter of state")
    };
    let parts = [
        &*format!("{CHANGELOG}[0]"),
        "(10s)",
        "delete.retention.ms=86400000",
    ];
    for part in parts {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    // What it has left behind is not trusted either, though nothing new came.
    assert_eq!(count(&mut world, "elsewhere", 0), 20);
    assert_eq!(world.last_values("counts", 1)["k0"], 2);
}

#[test]
fn many_tasks_that_begin_together_ask_for_their_topics_together() {
    let executor = Executor::new(1);
    let script = Script::new(executor.clock().clone(), |_| Act::Go);
    let topics = [("words", 100), ("counts", 1)];
    let mut world = World::with_driver(executor, script.clone(), &topics);
    let asked = script.count(Verb::Admin);
    let settings = settings(&world, "a", false);
    let instance = world.start_with(settings, None);
    world.drain(&instance);
    assert_eq!(instance.running.status().tasks.len(), 100);
    let asked = script.count(Verb::Admin) - asked;
    assert!(asked < 100, "{asked} questions");
    assert_eq!(world.stop(&instance), Ok(()));
}
