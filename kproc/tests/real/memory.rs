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

/// What the slow application reads.
const INPUT: Topic<String, Vec<u8>> = Topic::new("input");
/// What that is called on a site.
const TOPIC: &str = "input";
/// Larger than what a cramped producer may hold.
const RECORD: usize = 175_000;

/// What is there to be read ahead, and how much memory there is for it.
struct Load {
    /// The site where it is.
    site: &'static str,
    partitions: u32,
    /// How many in each partition.
    records: usize,
    size: usize,
    /// How they are written.
    properties: &'static [(&'static str, &'static str)],
    /// In MiB.
    memory: usize,
    /// How many records of each partition are handled before the measuring ends, one a second.
    handled: usize,
}

/// Each record a batch of its own and not compressed: 120 MB.
const LARGE: Load = Load {
    site: "g12",
    partitions: 10,
    records: 70,
    size: RECORD,
    properties: &[("batch.num.messages", "1"), ("compression.codec", "none")],
    memory: 16,
    // Time enough for all that may be read ahead.
    handled: 3,
};

/// Batches of thousands, compressed to a twelfth and less.
const SMALL: Load = Load {
    site: "g12-compressed",
    partitions: 4,
    records: 40_000,
    size: 100,
    properties: &[],
    memory: 64,
    handled: 1,
};

/// Takes its time over each record, without keeping a thread busy.
#[processor]
struct Slow {
    handled: Arc<Mutex<Vec<(u32, u64)>>>,
}

#[processor]
impl Slow {
    #[on_message(INPUT)]
    async fn slow(&mut self, ctx: &mut Context<'_>, _value: &[u8]) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let (Some(partition), Some(offset)) = (ctx.partition(), ctx.offset()) {
            self.handled.lock().unwrap().push((partition.get(), offset.get()));
        }
    }
}

/// Where the child finds the broker.
const BROKERS: &str = "KPROC_TEST_SLOW_BROKERS";
/// Which load it reads.
const LOAD: &str = "KPROC_TEST_SLOW_LOAD";

/// Scenario G12: with handlers that take a second, what is read ahead of ten partitions stays within the budget, and
/// the application within its group. (Unlimited, it would be all there is: 120 MB.)
#[test]
fn g12_slow_handlers_do_not_fill_the_memory() {
    let Some(site) = Site::shared(LARGE.site) else {
        return;
    };
    let grown = grown(&site, &LARGE);
    assert!(
        grown < 2 * LARGE.memory * 1024,
        "{grown} KiB, with {} MiB allowed",
        LARGE.memory
    );
}

/// Brokers count bytes as they keep them, compressed: what is read ahead must fit once it is not. (Fetches as large as the
/// room for them, compressed, take all of the budget here.)
#[test]
fn g12_compressed_records_do_not_fill_the_memory() {
    let Some(site) = Site::shared(SMALL.site) else {
        return;
    };
    let grown = grown(&site, &SMALL);
    assert!(
        grown < SMALL.memory * 1024 / 2,
        "{grown} KiB, with {} MiB allowed for all",
        SMALL.memory
    );
}

/// By how many KiB an application grows, at most, that reads such a load slowly: in a process of its own.
fn grown(site: &Site, load: &Load) -> usize {
    block_on(async {
        site.make_topic(TOPIC, load.partitions, &[]).await;
        fill(site, load).await;
    });
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["memory::slow_child", "--exact", "--nocapture"])
        .env(BROKERS, &site.brokers)
        .env(LOAD, load.site)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let grown = said
        .lines()
        .find_map(|line| line.split_once("grown by ")?.1.strip_suffix(" KiB"))
        .unwrap_or_else(|| panic!("{said}"));
    grown.parse().unwrap()
}

/// Fills every partition of a load's topic.
async fn fill(site: &Site, load: &Load) {
    let mut options = KafkaOptions::new(vec![site.brokers.clone()], Arc::new(SystemClock::new()));
    for &(name, value) in load.properties {
        options.properties.set(name, value);
    }
    let cluster = KafkaCluster::new(options).unwrap();
    let mut producer = cluster.producer(ProducerOptions::default()).unwrap();
    let topic: Arc<str> = site.topic(TOPIC).into();
    let value = vec![b'x'; load.size];
    let mut outbox = Outbox::default();
    for written in 1..=load.records {
        for number in 0..load.partitions {
            let key = format!("user-{written}");
            let record = RawRecord {
                partition: Some(site.partition(TOPIC, number).partition),
                key: Some(key.as_bytes()),
                value: Some(&value),
                ..RawRecord::default()
            };
            outbox.push_raw(&topic, &record);
        }
        if outbox.bytes() > 1 << 20 || written == load.records {
            producer.send(&mut outbox).await.unwrap();
        }
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
    let load = std::env::var(LOAD).unwrap();
    let load = [LARGE, SMALL].into_iter().find(|it| it.site == load).unwrap();
    let site = Site::at(&brokers, load.site);
    block_on(async {
        let state = tempfile::tempdir().unwrap();
        let before = kib("VmRSS:");
        let handled = Arc::new(Mutex::new(Vec::new()));
        let for_each = handled.clone();
        let app = site
            .app_of(site.name, state.path())
            .bind(&INPUT, site.topic(TOPIC))
            .processor_with(move || Slow {
                handled: for_each.clone(),
            })
            .configure(|settings| settings.memory = Size((load.memory as u64) << 20));
        let running = app.start().unwrap();
        while handled.lock().unwrap().len() < load.handled * load.partitions as usize {
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
