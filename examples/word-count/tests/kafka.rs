//! The program on a real Kafka.

#[path = "../../../kproc/tests/broker/mod.rs"]
mod broker;

use std::{
    fmt::Debug,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use broker::{
    TestBroker,
    counts::{self, Counts},
};
use kproc::{
    Clock, Lag, SystemClock,
    cluster::{
        Cluster, NewTopic, Producer, ProducerOptions,
        kafka::{KafkaCluster, KafkaOptions},
    },
    outbox::{Outbox, RawRecord},
    processor::Start,
};

const PARTITIONS: u32 = 2;
/// A bound against hanging, which no machine reaches, however busy it is.
const PATIENCE: Duration = Duration::from_secs(180);

/// One for each test: the program's group and changelog have the same names in all of them.
static BROKER: TestBroker = TestBroker::new(&[]);
static HANDOVER_BROKER: TestBroker = TestBroker::new(&[]);
static EXACT_BROKER: TestBroker = TestBroker::new(&[]);
static GONE_BROKER: TestBroker = TestBroker::new(&[]);
static FROZEN_BROKER: TestBroker = TestBroker::new(&[]);

/// A cluster to test with.
struct Kafka {
    brokers: &'static str,
    cluster: KafkaCluster,
    /// One for all lines: making it takes longer than what is done with it.
    producer: Box<dyn Producer>,
    clock: Arc<SystemClock>,
}

impl Kafka {
    fn new(brokers: &'static str) -> Self {
        let clock = Arc::new(SystemClock::new());
        let options = KafkaOptions::new(vec![brokers.to_owned()], clock.clone());
        let cluster = KafkaCluster::new(options).unwrap();
        Self {
            brokers,
            producer: cluster.producer(ProducerOptions::default()).unwrap(),
            cluster,
            clock,
        }
    }

    async fn make_topics(&self) {
        let new = ["lines", "words", "counts"].map(|name| NewTopic {
            name: name.into(),
            partitions: PARTITIONS,
            config: vec![],
        });
        let outcomes = self.cluster.admin().unwrap().create(new.to_vec()).await.unwrap();
        assert_eq!(outcomes, [Ok(()), Ok(()), Ok(())]);
    }

    async fn write(&mut self, lines: &[&str]) {
        let mut outbox = Outbox::default();
        for line in lines {
            let record = RawRecord {
                value: Some(line.as_bytes()),
                ..RawRecord::default()
            };
            outbox.push_raw(&"lines".into(), &record);
        }
        self.producer.send(&mut outbox).await.unwrap();
        self.producer.flush().await.unwrap();
    }

    /// Writes so many batches of lines, some time apart; so many words.
    async fn write_batches(&mut self, number: usize, apart: Duration) -> usize {
        for _ in 0..number {
            self.write(&["apple plum pear", "apple fig"]).await;
            self.clock.sleep_until(self.clock.now() + apart).await;
        }
        5 * number
    }

    /// Writes many lines at once; so many words.
    async fn write_many(&mut self) -> usize {
        const TIMES: usize = 400;
        self.write(&["apple plum pear", "apple fig"].repeat(TIMES)).await;
        5 * TIMES
    }

    /// All counts that were written, in order for each word.
    async fn counts(&self) -> Counts {
        counts::read(&self.cluster, &*self.clock, "counts").await
    }

    /// Waits until all that was written is committed.
    async fn committed(&self, program: &mut Program) {
        let patience = self.clock.now() + PATIENCE;
        loop {
            let inputs = ["lines", "words"].map(|topic| (topic.into(), Start::Earliest));
            let lag = Lag::measure(&self.cluster, "word-count", inputs).await.unwrap();
            if lag.total() == 0 {
                return;
            }
            self.assert_going_on(program, patience, &lag);
            self.clock
                .sleep_until(self.clock.now() + Duration::from_millis(50))
                .await;
        }
    }

    fn assert_going_on(&self, program: &mut Program, patience: Duration, with: &dyn Debug) {
        assert!(self.clock.now() < patience, "after a long time: {with:?}");
        let ended = program.0.try_wait().unwrap();
        assert!(ended.is_none(), "the program ended: {ended:?}");
    }

    /// Waits until that many counts were written, at least.
    async fn counted(&self, program: &mut Program, number: usize) -> Counts {
        let patience = self.clock.now() + PATIENCE;
        loop {
            let counts = self.counts().await;
            if counts::number_of(&counts) >= number {
                return counts;
            }
            self.assert_going_on(program, patience, &(number, &counts));
            self.clock
                .sleep_until(self.clock.now() + Duration::from_millis(50))
                .await;
        }
    }
}

/// The program, running.
struct Program(Child);

impl Program {
    fn start(kafka: &Kafka, state: &Path) -> Self {
        // No machine is so busy that it ends before the program does.
        let session = ["--session-timeout", "30s"];
        Self(Self::command(kafka, state).args(session).spawn().unwrap())
    }

    /// Starts it so that its partitions are soon given to others if it dies or stands still.
    fn start_mortal(kafka: &Kafka, state: &Path) -> Self {
        // After a stand-still librdkafka writes what it has, unless that is older than this.
        let settings = ["--session-timeout", "2s", "-X", "message.timeout.ms=1300"];
        Self(Self::command(kafka, state).args(settings).spawn().unwrap())
    }

    fn start_exact(kafka: &Kafka, state: &Path) -> Self {
        let exact = ["--session-timeout", "2s", "--processing", "exactly_once"];
        Self(Self::command(kafka, state).args(exact).spawn().unwrap())
    }

    /// Ends it as by a crash.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn command(kafka: &Kafka, state: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_word-count"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KPROC_"))
        {
            command.env_remove(name);
        }
        command.args(["run", "--threads", "2", "--commit-interval", "100ms"]);
        // Members hear of each other's coming with their heartbeats.
        command.args(["--heartbeat-interval", "200ms"]);
        command
            .args(["--brokers", kafka.brokers, "--state-dir"])
            .arg(state);
        command.stdin(Stdio::null());
        command
    }

    /// What it has used of the processors so far, where the system tells that.
    fn processor_time(&self) -> Option<Duration> {
        /// A clock tick of Linux, as programs see it.
        const TICK: Duration = Duration::from_millis(10);
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).ok()?;
        // The name may have spaces in it; user and system time are the 14th and the 15th.
        let after_name = stat.rsplit_once(')')?.1.split_whitespace();
        let ticks = after_name.skip(11).take(2).map(str::parse::<u32>);
        Some(TICK * ticks.sum::<Result<u32, _>>().ok()?)
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args(["-s", signal, &self.0.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Asks it to stop, as a service manager does, and waits for it.
    fn stop(mut self) -> ExitStatus {
        broker::signals::stop(&mut self.0)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.0.kill();
    }
}

/// Runs a test's body on this thread.
fn block_on(body: impl Future<Output = ()>) {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    executor.unwrap().block_on(body);
}

/// Of so many words, in batches, each was counted once, in order.
fn assert_exact(counts: &Counts, written: usize) {
    let each = written as u64 / 5;
    for (word, number) in [("apple", 2 * each), ("plum", each), ("pear", each), ("fig", each)] {
        let exact: Vec<u64> = (1..=number).collect();
        assert_eq!(counts[word], exact, "{word}");
    }
}

/// Scenario G08, and restoring: a stop commits all, and a new directory is filled from the changelog.
#[test]
fn g08_counts_go_on_after_a_stop_and_without_the_directory() {
    let Some(brokers) = BROKER.address() else {
        return;
    };
    block_on(async {
        let mut kafka = Kafka::new(brokers);
        kafka.make_topics().await;
        let state = tempfile::tempdir().unwrap();

        kafka.write(&["apple plum", "apple", "pear apple"]).await;
        let mut program = Program::start(&kafka, state.path());
        let counts = kafka.counted(&mut program, 5).await;
        assert_eq!(counts["apple"], [1, 2, 3]);
        assert!(program.stop().success());

        kafka.write(&["apple", "plum"]).await;
        let mut program = Program::start(&kafka, state.path());
        let counts = kafka.counted(&mut program, 7).await;
        assert_eq!(
            (&*counts["apple"], &*counts["plum"]),
            (&[1, 2, 3, 4][..], &[1, 2][..])
        );
        assert!(program.stop().success());

        let other = tempfile::tempdir().unwrap();
        kafka.write(&["apple pear fig"]).await;
        let mut program = Program::start(&kafka, other.path());
        let counts = kafka.counted(&mut program, 10).await;
        assert!(program.stop().success());
        let expected: Counts = [
            ("apple", vec![1, 2, 3, 4, 5]),
            ("fig", vec![1]),
            ("pear", vec![1, 2]),
            ("plum", vec![1, 2]),
        ]
        .map(|(word, counts)| (word.to_owned(), counts))
        .into();
        assert_eq!(counts, expected);
        assert_eq!(kafka.counts().await, expected, "nothing was counted twice");
    });
}

/// Scenarios C13, C16, G07: instances come and go while records flow; as all stop cleanly, each word is counted
/// exactly once, in order.
#[test]
fn g07_counts_are_exact_while_instances_come_and_go() {
    let Some(brokers) = HANDOVER_BROKER.address() else {
        return;
    };
    block_on(async {
        let mut kafka = Kafka::new(brokers);
        kafka.make_topics().await;
        let states = [(); 4].map(|()| tempfile::tempdir().unwrap());
        let mut written = 0;
        let mut more = async |kafka: &mut Kafka| {
            written += kafka.write_batches(20, Duration::from_millis(50)).await;
            written
        };

        let one = Program::start(&kafka, states[0].path());
        more(&mut kafka).await;
        let two = Program::start(&kafka, states[1].path());
        more(&mut kafka).await;
        assert!(one.stop().success());
        more(&mut kafka).await;
        let three = Program::start(&kafka, states[2].path());
        more(&mut kafka).await;
        assert!(two.stop().success());
        let mut four = Program::start(&kafka, states[3].path());
        let written = more(&mut kafka).await;
        kafka.counted(&mut four, written).await;
        assert!(three.stop().success());
        assert!(four.stop().success());

        let counts = kafka.counts().await;
        assert_exact(&counts, written);
    });
}

/// Scenarios G03, G15: an outage costs no processor time and few lines of log, and a stop in it takes a moment, if there is
/// nothing to commit.
#[test]
fn g03_a_program_without_brokers_is_quiet_and_stops_at_once() {
    const OUTAGE: Duration = Duration::from_secs(3);
    let Some(brokers) = GONE_BROKER.address() else {
        return;
    };
    block_on(async {
        let mut kafka = Kafka::new(brokers);
        kafka.make_topics().await;
        let state = tempfile::tempdir().unwrap();
        let log = state.path().join("log");
        let mut command = Program::command(&kafka, state.path());
        command.stderr(std::fs::File::create(&log).unwrap());
        let mut program = Program(command.spawn().unwrap());
        kafka.write(&["apple plum", "apple"]).await;
        kafka.counted(&mut program, 3).await;
        kafka.committed(&mut program).await;

        GONE_BROKER.tell("kill");
        let before = program.processor_time();
        let clock = kafka.clock.clone();
        clock.sleep_until(clock.now() + OUTAGE).await;
        let used = program.processor_time().zip(before);
        if let Some((after, before)) = used {
            let used = after.saturating_sub(before);
            assert!(used < OUTAGE / 4, "{used:?}");
        }
        let asked = kafka.clock.now();
        assert_eq!(program.stop().code(), Some(0));
        let took = kafka.clock.now().saturating_sub(asked);
        assert!(
            took < Duration::from_secs(15),
            "not until the stop's time-out: {took:?}"
        );
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.lines().count() < 25, "{log}");
    });
}

/// With transactions, what an observer reads is exact although processes die in the middle of things: each word counted
/// once, in order.
#[test]
fn exactly_once_counts_are_exact_over_crashes() {
    let Some(brokers) = EXACT_BROKER.address() else {
        return;
    };
    block_on(async {
        let mut kafka = Kafka::new(brokers);
        kafka.make_topics().await;
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut written = 0;
        let mut programs =
            [0, 1].map(|number: usize| Some(Program::start_exact(&kafka, states[number].path())));
        for round in 0..6 {
            written += kafka.write_batches(10, Duration::from_millis(20)).await;
            // In turn; each comes back with the state that it had.
            let number = round % 2;
            if let Some(program) = programs[number].take() {
                program.kill();
            }
            programs[number] = Some(Program::start_exact(&kafka, states[number].path()));
        }
        let [Some(mut one), Some(other)] = programs else {
            unreachable!()
        };
        let counts = kafka.counted(&mut one, written).await;
        assert_exact(&counts, written);
        assert!(one.stop().success());
        assert!(other.stop().success());
        assert_eq!(kafka.counts().await, counts, "nothing came after");
    });
}

/// At least once, a process that stood still for longer than its session writes none of its old counts over those of the
/// process that has its partitions by then.
#[test]
fn c14_processes_that_stand_still_write_nothing_old() {
    const SESSION: Duration = Duration::from_secs(2);
    let Some(brokers) = FROZEN_BROKER.address() else {
        return;
    };
    block_on(async {
        let mut kafka = Kafka::new(brokers);
        kafka.make_topics().await;
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut programs = [0, 1].map(|number: usize| Program::start_mortal(&kafka, states[number].path()));
        let mut written = kafka.write_batches(20, Duration::from_millis(50)).await;
        for frozen in [0, 1, 0, 1] {
            // In the middle of much to do: it has counted what it has not committed.
            written += kafka.write_many().await;
            programs[frozen].signal("STOP");
            written += kafka.write_many().await;
            kafka.clock.sleep_until(kafka.clock.now() + 2 * SESSION).await;
            // The other one has counted on for all, and writes nothing more for now.
            kafka.committed(&mut programs[1 - frozen]).await;
            programs[frozen].signal("CONT");
            // So that it has joined again, and restored what is there.
            kafka.clock.sleep_until(kafka.clock.now() + SESSION).await;
            written += kafka.write_batches(4, Duration::from_millis(20)).await;
        }
        let [mut one, other] = programs;
        kafka.counted(&mut one, written).await;
        kafka.committed(&mut one).await;
        let counts = kafka.counts().await;
        let each = written as u64 / 5;
        for (word, number) in [("apple", 2 * each), ("plum", each), ("pear", each), ("fig", each)] {
            let last = counts[word].last().unwrap();
            assert!(*last >= number, "{word}: {last} of {number}");
        }
        assert!(one.stop().success());
        assert!(other.stop().success());
    });
}
