//! The same code as production runs it: threads, their tokio runtimes, the operating system's clock.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    Clock, Partition, SystemClock, Table, TopicPartition,
    cluster::{
        Cluster, Isolation, NewTopic,
        embedded::{EmbeddedCluster, EmbeddedOptions, RealDriver},
    },
    engine::{declared, factory},
    runtime::{Plan, RunError, RunState, Running, Settings, TaskPhase, Threads, block_on, start},
    topology::Topology,
};

use super::kit::{APP, CHANGELOG, Count, Diary, Whim, append, read_all};

struct Real {
    clock: Arc<SystemClock>,
    cluster: EmbeddedCluster,
    directory: tempfile::TempDir,
    diary: Diary,
}

impl Real {
    fn new() -> Self {
        let clock = Arc::new(SystemClock::new());
        let driver = RealDriver::new(clock.clone()).unwrap();
        let cluster = EmbeddedCluster::new(
            driver,
            EmbeddedOptions {
                auto_create: None,
                ..EmbeddedOptions::default()
            },
        );
        let topic = |name: &str| NewTopic {
            name: name.into(),
            partitions: 4,
            config: vec![],
        };
        let mut admin = cluster.connect().admin().unwrap();
        block_on(admin.create(vec![topic("words"), topic("counts")])).unwrap();
        Self {
            clock,
            cluster,
            directory: tempfile::tempdir().unwrap(),
            diary: Diary::default(),
        }
    }

    fn start(&self) -> Running {
        self.start_with("a", None, |_| {})
    }

    fn start_with(&self, slot: &str, whim: Option<Whim>, set: impl FnOnce(&mut Settings)) -> Running {
        let diary = self.diary.clone();
        let count = factory(move || Count {
            totals: Table::default(),
            instance: 1,
            diary: diary.clone(),
            clock: None,
            whim: whim.clone(),
            forget_at: None,
        });
        let mut settings = Settings::new(self.directory.path().join(slot));
        settings.threads = 2;
        settings.commit_interval = Duration::from_millis(20);
        set(&mut settings);
        let factories = vec![count];
        let topology = Topology::build(APP, declared(&factories), BTreeMap::new());
        let plan = Plan {
            topology: Arc::new(topology.unwrap()),
            factories: factories.into(),
            settings,
        };
        start(
            plan,
            self.cluster.connect(),
            self.clock.clone(),
            &(Arc::new(Threads) as _),
        )
        .unwrap()
    }

    fn rows(&self, topic: &str) -> Vec<(String, Option<i64>)> {
        let mut reader = self.cluster.connect().reader(Isolation::ReadCommitted).unwrap();
        let places = (0..4).map(|partition| TopicPartition::new(topic, Partition::new(partition)));
        places
            .flat_map(|place| block_on(read_all(&mut *reader, place)))
            .collect()
    }

    fn last_values(&self, topic: &str) -> BTreeMap<String, i64> {
        let rows = self.rows(topic).into_iter();
        rows.map(|(key, value)| (key, value.unwrap())).collect()
    }
}

#[test]
fn two_workers_share_four_partitions_and_go_on_after_a_restart() {
    let real = Real::new();
    for number in 0..2000_u32 {
        append(
            &real.cluster,
            "words",
            number % 4,
            &format!("k{}", number % 40),
            i64::from(number),
        );
    }
    let first = real.start();
    block_on(first.drained()).unwrap();
    let workers = first.status().tasks.into_iter().map(|task| match task.phase {
        TaskPhase::Running { worker } => worker,
        TaskPhase::Restoring { .. } => panic!("it has processed records"),
    });
    assert_eq!(
        workers.filter(|worker| *worker == 0).count(),
        2,
        "tasks are spread over the workers"
    );
    first.shutdown(Duration::from_secs(10));
    assert_eq!(first.wait_blocking(), Ok(()));
    assert_eq!(first.status().state, RunState::Stopped);

    for number in 2000..4000_u32 {
        append(
            &real.cluster,
            "words",
            number % 4,
            &format!("k{}", number % 40),
            i64::from(number),
        );
    }
    let second = real.start();
    block_on(second.drained()).unwrap();
    second.shutdown(Duration::from_secs(10));
    assert_eq!(second.wait_blocking(), Ok(()));

    let counts = real.last_values("counts");
    assert!(
        counts.len() == 40 && counts.values().all(|count| *count == 100),
        "{counts:?}"
    );
    assert_eq!(real.last_values(CHANGELOG), counts);
    for partition in 0..4 {
        assert_eq!(
            real.diary.offsets(partition),
            (0..1000).collect::<Vec<_>>(),
            "each once, in order"
        );
    }
}

#[test]
fn g04_a_handle_in_a_tokio_program_does_not_stall_it() {
    let real = Real::new();
    append(&real.cluster, "words", 0, "k", 1);
    let running = real.start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        // Spawned, so the futures must be `Send`.
        let drained = tokio::spawn(running.drained());
        drained.await.unwrap().unwrap();
        running.shutdown(Duration::from_secs(10));
        let waiting = tokio::spawn(running.wait());
        let mut ticks = 0;
        while !waiting.is_finished() {
            ticks += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(waiting.await.unwrap(), Ok(()));
        assert!(ticks > 0, "the runtime went on");
    });
}

#[test]
fn c10_a_handler_that_blocks_its_thread_for_ever_makes_the_instance_leave() {
    let real = Real::new();
    for number in 0..8_u32 {
        append(&real.cluster, "words", number % 4, "k", i64::from(number));
    }
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let (back, came_back) = std::sync::mpsc::channel::<()>();
    let whim: Whim = Arc::new(move |record| {
        if record.partition == Partition::new(1) {
            // Until the end of the test.
            let _ = blocked.lock().unwrap().recv();
            let _ = back.send(());
        }
        Ok(())
    });
    let held = Arc::downgrade(&whim);
    let first = real.start_with("a", Some(whim), |settings| {
        settings.stuck_after = Duration::from_millis(200);
        settings.session_timeout = Duration::from_secs(600);
    });
    let begun = real.clock.now();
    let error = first.wait_blocking().unwrap_err();
    let took = real.clock.now().saturating_sub(begun);
    assert!(
        took < Duration::from_secs(5),
        "it waited for the handler: {took:?}"
    );
    let RunError::Stuck { record, blocks, .. } = &error else {
        panic!("{error}")
    };
    let at = TopicPartition::new("words", Partition::new(1));
    assert_eq!(
        (record, *blocks),
        (&Some((at, crate::Offset::ZERO)), true),
        "{error}"
    );
    assert!(error.to_string().contains("0_1"), "{error}");
    assert_eq!(first.status().state, RunState::Failed);

    // Somebody else has the partitions now, long before the session ends, and does the record that was never
    // finished.
    let second = real.start_with("b", None, |_| {});
    block_on(second.drained()).unwrap();
    let before = (real.rows("counts"), real.rows(CHANGELOG));
    // The handler comes back: what it did is neither sent nor committed.
    release.send(()).unwrap();
    came_back.recv().unwrap();
    let patience = real.clock.now() + Duration::from_secs(30);
    while held.strong_count() > 0 {
        assert!(real.clock.now() < patience, "the worker never ends");
        std::thread::yield_now();
    }
    second.shutdown(Duration::from_secs(10));
    assert_eq!(second.wait_blocking(), Ok(()));
    let after = (real.rows("counts"), real.rows(CHANGELOG));
    assert_eq!(before, after);
    assert_eq!(
        real.diary.offsets(1),
        [0, 1, 0],
        "once more by the first, for nothing"
    );
    for partition in [0, 2, 3] {
        // What shared the worker could not be committed, and may have been done twice.
        let seen: BTreeSet<u64> = real.diary.offsets(partition).into_iter().collect();
        assert_eq!(seen, BTreeSet::from([0, 1]), "partition {partition}");
    }
}
