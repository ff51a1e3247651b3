//! What a slow application takes of memory, by the system's count: each in a process of its own.

use std::{
    fs,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use kproc::{
    Offset, RunState, SystemClock,
    cluster::{
        Cluster, ClusterErrorKind, Isolation, Producer, ProducerOptions,
        kafka::{KafkaCluster, KafkaOptions},
    },
    config::Size,
    outbox::{Outbox, RawRecord},
    prelude::*,
};

use crate::kit::{Site, block_on, stop};

const LARGE: Topic<String, Vec<u8>> = Topic::new("large");
const RECORD: usize = 175_000;
const PARTITIONS: u32 = 10;

/// Takes its time over each record, without keeping a thread busy.
#[processor]
struct Slow {
    handled: Arc<Mutex<Vec<(u32, u64)>>>,
}

#[processor]
impl Slow {
    #[on_message(LARGE)]
    async fn slow(&mut self, ctx: &mut Context<'_>, _value: &[u8]) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let (Some(partition), Some(offset)) = (ctx.partition(), ctx.offset()) {
            self.handled.lock().unwrap().push((partition.get(), offset.get()));
        }
    }
}

/// Where the child finds the broker.
const BROKERS: &str = "KPROC_TEST_SLOW_BROKERS";
/// How much memory it is to take, in MiB.
const MEMORY: usize = 16;

/// Scenario G12: with handlers that take a second, what is read ahead of ten partitions stays within the budget, and
/// the application within its group. (Unlimited, it would be all there is: 120 MB.)
#[test]
fn g12_slow_handlers_do_not_fill_the_memory() {
    let Some(site) = Site::shared("g12") else { return };
    block_on(async {
        site.make_topic("large", PARTITIONS, &[]).await;
        fill(&site, 70).await;
    });
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["memory::slow_child", "--exact", "--nocapture"])
        .env(BROKERS, &site.brokers)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let grown = said
        .lines()
        .find_map(|line| line.split_once("grown by ")?.1.strip_suffix(" KiB"))
        .unwrap_or_else(|| panic!("{said}"));
    let grown: usize = grown.parse().unwrap();
    assert!(
        grown < 2 * MEMORY * 1024,
        "{grown} KiB, with {MEMORY} MiB allowed"
    );
}

/// Fills every partition with so many records, each a batch of its own and not to be compressed.
async fn fill(site: &Site, records: usize) {
    let mut options = KafkaOptions::new(vec![site.brokers.clone()], Arc::new(SystemClock::new()));
    options.properties.set("batch.num.messages", "1");
    options.properties.set("compression.codec", "none");
    let cluster = KafkaCluster::new(options).unwrap();
    let mut producer = cluster.producer(ProducerOptions::default()).unwrap();
    let topic: Arc<str> = site.topic("large").into();
    let value = vec![b'x'; RECORD];
    let mut outbox = Outbox::default();
    for _ in 0..records {
        for number in 0..PARTITIONS {
            let record = RawRecord {
                partition: Some(site.partition("large", number).partition),
                value: Some(&value),
                ..RawRecord::default()
            };
            outbox.push_raw(&topic, &record);
        }
        producer.send(&mut outbox).await.unwrap();
    }
    producer.flush().await.unwrap();
}

/// A producer with room for 64 KiB.
fn cramped(site: &Site) -> Box<dyn Producer> {
    let mut options = KafkaOptions::new(vec![site.brokers.clone()], Arc::new(SystemClock::new()));
    options.properties.set("queue.buffering.max.kbytes", "64");
    let cluster = KafkaCluster::new(options).unwrap();
    cluster.producer(ProducerOptions::default()).unwrap()
}

/// Adds a record of this size.
fn push(outbox: &mut Outbox, topic: &Arc<str>, size: usize) {
    let value = vec![b'x'; size];
    let record = RawRecord {
        value: Some(&value),
        ..RawRecord::default()
    };
    outbox.push_raw(topic, &record);
}

/// Nobody waits for room that is never made.
#[test]
fn a_record_larger_than_the_whole_buffer_is_refused() {
    let Some(site) = Site::shared("larger") else {
        return;
    };
    block_on(async {
        site.make_topic("large", 1, &[]).await;
        let mut producer = cramped(&site);
        let topic: Arc<str> = site.topic("large").into();
        let mut outbox = Outbox::default();
        // Those before it fill the buffer several times.
        for size in [60_000, 60_000, 60_000, RECORD] {
            push(&mut outbox, &topic, size);
        }
        producer.send(&mut outbox).await.unwrap();
        let error = producer.flush().await.unwrap_err();
        assert_eq!(error.kind, ClusterErrorKind::RecordTooLarge, "{error}");
        assert!(
            error.message.contains("queue.buffering.max.kbytes"),
            "it says what to do: {error}"
        );
        let reader = site.cluster.reader(Isolation::ReadCommitted);
        let ends = reader.unwrap().watermarks(site.partition("large", 0)).await;
        assert_eq!(ends.unwrap().latest.get(), 3, "the others were written");
    });
}

/// The process that is measured. Does nothing unless it is told where the broker is.
#[test]
fn slow_child() {
    let Ok(brokers) = std::env::var(BROKERS) else {
        return;
    };
    let site = Site::at(&brokers, "g12");
    block_on(async {
        let state = tempfile::tempdir().unwrap();
        let before = kib("VmRSS:");
        let handled = Arc::new(Mutex::new(Vec::new()));
        let for_each = handled.clone();
        let app = site
            .app_of("g12", state.path())
            .bind(&LARGE, site.topic("large"))
            .processor_with(move || Slow {
                handled: for_each.clone(),
            })
            .configure(|settings| settings.memory = Size((MEMORY as u64) << 20));
        let running = app.start().unwrap();
        // Each partition's third record comes long after a member that only polls when it is ready would be out.
        while handled.lock().unwrap().len() < 3 * PARTITIONS as usize {
            assert_eq!(running.status().failure, None);
            assert_ne!(running.status().state, RunState::Stopped);
            site.pause(Duration::from_millis(50)).await;
        }
        let grown = kib("VmHWM:") - before;
        stop(&running, Duration::from_secs(20)).await;
        let mut handled = handled.lock().unwrap().clone();
        let all = handled.len();
        handled.sort_unstable();
        handled.dedup();
        assert_eq!(handled.len(), all, "partitions were lost and read anew");
        println!("grown by {grown} KiB");
    });
}

/// A line of what the system says of this process.
fn kib(what: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse().unwrap()
}

/// What a flush says to be written is written, however many pieces it went in, and whoever handed them over.
#[test]
fn a_flush_waits_for_every_piece() {
    const ROUNDS: u64 = 50;
    const EACH: u64 = 40;
    let Some(site) = Site::shared("pieces") else {
        return;
    };
    block_on(async {
        site.make_topic("small", 1, &[]).await;
        let options = ProducerOptions {
            // So that a round goes in several pieces.
            buffer: Some(8 << 10),
            ..ProducerOptions::default()
        };
        let mut producer = site.cluster.producer(options).unwrap();
        let topic: Arc<str> = site.topic("small").into();
        for round in 1..=ROUNDS {
            let mut outbox = Outbox::default();
            for _ in 0..EACH {
                push(&mut outbox, &topic, 500);
            }
            producer.send(&mut outbox).await.unwrap();
            let written = producer.flush().await.unwrap();
            let end = Offset::new(round * EACH);
            assert_eq!(written, [(site.partition("small", 0), end)], "round {round}");
        }
    });
}

/// Also if the thread that hears of deliveries is the one that hands it over.
#[test]
fn a_refusal_is_told_by_the_flush() {
    let Some(site) = Site::shared("refusals") else {
        return;
    };
    block_on(async {
        site.make_topic("large", 1, &[]).await;
        let mut producer = cramped(&site);
        let topic: Arc<str> = site.topic("large").into();
        for round in 0..50 {
            let mut outbox = Outbox::default();
            for size in [60_000, 60_000, RECORD] {
                push(&mut outbox, &topic, size);
            }
            let sent = producer.send(&mut outbox).await;
            let flushed = producer.flush().await;
            assert!(sent.is_err() || flushed.is_err(), "round {round}");
        }
    });
}
