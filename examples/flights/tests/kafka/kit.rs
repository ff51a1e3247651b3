//! A broker with the program's topics, programs that run on it, and what they have written.

use std::{
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use kproc::{
    Clock, Lag, Partition, SystemClock, TopicPartition,
    cluster::{
        Admin, Cluster, Isolation, NewTopic, ProducerOptions,
        kafka::{KafkaCluster, KafkaOptions},
    },
    outbox::Outbox,
    processor::Start,
};
use serde::de::DeserializeOwned;

use crate::broker;

/// A bound against hanging.
const PATIENCE: Duration = Duration::from_secs(180);

/// A cluster to test with.
pub(crate) struct Kafka {
    pub(crate) brokers: &'static str,
    cluster: KafkaCluster,
    pub(crate) clock: Arc<SystemClock>,
}

impl Kafka {
    pub(crate) fn new(brokers: &'static str) -> Self {
        let clock = Arc::new(SystemClock::new());
        let options = KafkaOptions::new(vec![brokers.to_owned()], clock.clone());
        Self {
            brokers,
            cluster: KafkaCluster::new(options).unwrap(),
            clock,
        }
    }

    fn admin(&self) -> Box<dyn Admin> {
        self.cluster.admin().unwrap()
    }

    /// Makes the topics of the program.
    pub(crate) async fn make_topics(&self, partitions: u32) {
        let names = [
            "flights",
            "planes",
            "flights-by-aircraft",
            "hourly-delays",
            "aircraft-totals",
        ];
        let new = names.map(|name| NewTopic {
            name: name.into(),
            partitions,
            // The flights are of 2013: brokers would delete them at once.
            config: vec![("retention.ms".to_owned(), "-1".to_owned())],
        });
        let outcomes = self.admin().create(new.to_vec()).await.unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }

    /// Writes records, one piece after another with so much time from begin to begin, and waits until they are written.
    pub(crate) async fn write(&self, pieces: impl IntoIterator<Item = Outbox>, every: Duration) {
        let mut producer = self.cluster.producer(ProducerOptions::default()).unwrap();
        let mut at = self.clock.now();
        for mut piece in pieces {
            producer.send(&mut piece).await.unwrap();
            producer.flush().await.unwrap();
            at += every;
            self.clock.sleep_until(at).await;
        }
    }

    /// Waits until the group has committed all its input.
    pub(crate) async fn caught_up(&self, programs: &mut [&mut Program]) {
        let patience = self.clock.now() + PATIENCE;
        loop {
            let inputs = ["flights", "planes", "flights-by-aircraft"];
            let inputs = inputs.map(|name| (name.into(), Start::Earliest));
            let lag = Lag::measure(&self.cluster, "flights", inputs).await.unwrap();
            if lag.total() == 0 {
                return;
            }
            for program in &mut *programs {
                let ended = program.0.try_wait().unwrap();
                assert!(ended.is_none(), "a program ended: {ended:?}");
            }
            if self.clock.now() >= patience {
                self.show_group();
                panic!("after a long time: {lag:?}");
            }
            self.pause(Duration::from_millis(100)).await;
        }
    }

    /// Shows who has which partitions, as Kafka's own tool says: a first step to find out why nothing goes on.
    fn show_group(&self) {
        for what in [&["--state"][..], &["--members", "--verbose"], &["--offsets"]] {
            let classpath = broker::tools().unwrap().join("target/libs/*");
            let shown = Command::new("java")
                .args(["-XX:TieredStopAtLevel=1", "-cp"])
                .arg(classpath)
                .arg("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand")
                .args([
                    "--bootstrap-server",
                    self.brokers,
                    "--group",
                    "flights",
                    "--describe",
                ])
                .args(what)
                .output()
                .unwrap();
            println!("{}", String::from_utf8_lossy(&shown.stdout));
        }
    }

    /// How many records a topic has, without transactions.
    async fn length(&self, topic: &str) -> u64 {
        let described = self.admin().describe(vec![topic.into()]).await.unwrap();
        let mut reader = self.cluster.reader(Isolation::ReadCommitted).unwrap();
        let mut length = 0;
        for number in 0..described[0].as_ref().unwrap().partitions {
            let place = TopicPartition::new(topic, Partition::new(number));
            let ends = reader.watermarks(place).await.unwrap();
            length += ends.latest.since(ends.earliest);
        }
        length
    }

    /// All records of a topic, by Kafka's console consumer, in order within their partitions.
    pub(crate) async fn consume<V: DeserializeOwned>(&self, topic: &str) -> Vec<(String, V)> {
        let length = self.length(topic).await;
        let all = ["--max-messages", &length.to_string(), "--timeout-ms", "60000"];
        let records = self.console_consumer(topic, &all);
        assert_eq!(records.len() as u64, length);
        records
    }

    fn console_consumer<V: DeserializeOwned>(&self, topic: &str, until: &[&str]) -> Vec<(String, V)> {
        let classpath = broker::tools().unwrap().join("target/libs/*");
        let output = Command::new("java")
            .args([
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
            ])
            .arg("-cp")
            .arg(classpath)
            .arg("org.apache.kafka.tools.consumer.ConsoleConsumer")
            .args([
                "--bootstrap-server",
                self.brokers,
                "--topic",
                topic,
                "--from-beginning",
            ])
            .args(until)
            .args(["--formatter-property", "print.key=true"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let record = |line: &str| {
            let (key, value) = line.split_once('\t').unwrap();
            (key.to_owned(), serde_json::from_str(value).unwrap())
        };
        text.lines().map(record).collect()
    }

    /// How many committed records a topic has. (With transactions, offsets do not tell.)
    async fn number_committed(&self, topic: &str) -> usize {
        let described = self.admin().describe(vec![topic.into()]).await.unwrap();
        let mut reader = self.cluster.reader(Isolation::ReadCommitted).unwrap();
        let mut number = 0;
        for partition in 0..described[0].as_ref().unwrap().partitions {
            let place = TopicPartition::new(topic, Partition::new(partition));
            let ends = reader.watermarks(place.clone()).await.unwrap();
            let mut next = ends.earliest;
            while next < ends.stable {
                let wait = Duration::from_secs(10);
                let read = reader.read(place.clone(), next, 10_000, wait).await.unwrap();
                number += read.batch.remaining();
                next = read.next;
            }
        }
        number
    }

    /// All committed records of a topic, by Kafka's console consumer.
    pub(crate) fn consume_committed<V: DeserializeOwned>(&self, topic: &str) -> Vec<(String, V)> {
        let mut number = 0;
        block_on(async { number = self.number_committed(topic).await });
        let all = ["--max-messages", &number.to_string(), "--timeout-ms", "60000"];
        let committed = ["--isolation-level", "read_committed"];
        let records = self.console_consumer(topic, &[&committed[..], &all].concat());
        assert_eq!(records.len(), number);
        records
    }

    pub(crate) async fn pause(&self, time: Duration) {
        self.clock.sleep_until(self.clock.now() + time).await;
    }
}

/// The program's command line, without settings from outside.
fn command(kafka: &Kafka, what: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flights"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KPROC_")) {
        command.env_remove(name);
    }
    command
        .args([what, "--brokers", kafka.brokers])
        .stdin(Stdio::null());
    command
}

/// Runs the program with this command to its end.
pub(crate) fn ask(kafka: &Kafka, what: &str, args: &[&str]) -> Output {
    command(kafka, what).args(args).output().unwrap()
}

/// The program, running.
pub(crate) struct Program(Child);

impl Program {
    /// Starts it. No machine is so busy that its session ends before it does.
    pub(crate) fn start(kafka: &Kafka, state: &Path) -> Self {
        Self::start_with(kafka, state, &["--session-timeout", "30s"])
    }

    /// Starts it so that its partitions are soon given to others if it dies.
    pub(crate) fn start_mortal(kafka: &Kafka, state: &Path) -> Self {
        Self::start_with(kafka, state, &["--session-timeout", "2s"])
    }

    /// Starts it with transactions, which are given up soon if it dies for good.
    pub(crate) fn start_exact(kafka: &Kafka, state: &Path) -> Self {
        let exact = [
            "--session-timeout",
            "2s",
            "--processing",
            "exactly_once",
            "--transaction-timeout",
            "5s",
        ];
        Self::start_with(kafka, state, &exact)
    }

    fn start_with(kafka: &Kafka, state: &Path, more: &[&str]) -> Self {
        // Members hear of each other's coming with their heartbeats.
        let settings = [
            "--heartbeat-interval",
            "200ms",
            "--commit-interval",
            "100ms",
            "--log",
            "warn",
        ];
        let mut command = command(kafka, "run");
        command.args(settings).args(more).arg("--state-dir").arg(state);
        Self(command.spawn().unwrap())
    }

    /// Asks it to stop, as a service manager does, and waits for it.
    pub(crate) fn stop(mut self) -> ExitStatus {
        broker::signals::stop(&mut self.0)
    }

    /// Stops the clock for it: it does nothing and notices nothing.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.0.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Kills it, as the kernel does when memory runs out.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The key of an hour's delays.
pub(crate) fn hour(key: &str) -> (String, String) {
    serde_json::from_str(key).unwrap()
}

/// Runs a test's body on this thread.
pub(crate) fn block_on(body: impl Future<Output = ()>) {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    executor.unwrap().block_on(body);
}
