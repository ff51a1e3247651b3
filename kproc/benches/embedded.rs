//! What the embedded cluster costs for each record: writing a full outbox, and reading it by an assigned queue.
//!
//! `cargo bench -p kproc --bench embedded`

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use divan::{Bencher, counter::ItemsCount};
use kproc::{
    Batch, Partition,
    cluster::{
        Cluster, Event, Isolation, JoinRequest, Member, NewTopic, Producer, ProducerOptions, Queue, SeekTo,
        embedded::{EmbeddedCluster, EmbeddedConnection, EmbeddedOptions, RealDriver},
    },
    outbox::{Outbox, RawRecord},
};

fn main() {
    divan::main();
}

/// Records in an outbox.
const RECORDS: usize = 1000;
const VALUE: [u8; 100] = [b'x'; 100];

/// The embedded cluster in real time answers before the call returns.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => unreachable!("nothing waits here"),
    }
}

fn connect() -> Arc<EmbeddedConnection> {
    let driver = RealDriver::new(Arc::default()).expect("a thread");
    let connection = EmbeddedCluster::new(driver, EmbeddedOptions::default()).connect();
    let topic = NewTopic {
        name: "t".into(),
        partitions: 4,
        config: vec![],
    };
    now(connection.admin().unwrap().create(vec![topic])).unwrap();
    connection
}

fn fill(outbox: &mut Outbox, topic: &Arc<str>) {
    for number in 0..RECORDS as u64 {
        let key = number.to_be_bytes();
        outbox.push_raw(
            topic,
            &RawRecord {
                key: Some(&key),
                value: Some(&VALUE),
                ..RawRecord::default()
            },
        );
    }
}

#[divan::bench]
fn send(bencher: Bencher) {
    let topic: Arc<str> = "t".into();
    let filled = || {
        let mut outbox = Outbox::default();
        fill(&mut outbox, &topic);
        (outbox, connect().producer(ProducerOptions::default()).unwrap())
    };
    bencher
        .counter(ItemsCount::new(RECORDS))
        .with_inputs(filled)
        .bench_local_refs(|(outbox, producer): &mut (Outbox, Box<dyn Producer>)| {
            now(producer.send(outbox)).unwrap();
            now(producer.flush()).unwrap();
        });
}

/// A member with all partitions, and its queues at the start of what was written.
struct Assigned {
    _member: Box<dyn Member>,
    queues: Vec<Box<dyn Queue>>,
}

fn assigned() -> Assigned {
    let (topic, connection) = ("t".into(), connect());
    let mut outbox = Outbox::default();
    let mut producer = connection.producer(ProducerOptions::default()).unwrap();
    for _ in 0..10 {
        fill(&mut outbox, &topic);
        now(producer.send(&mut outbox)).unwrap();
    }
    let request = JoinRequest {
        group: "g".into(),
        topics: vec![topic],
        session_timeout: Duration::from_secs(10),
        heartbeat_interval: None,
        revoke_timeout: Duration::from_secs(10),
        isolation: Isolation::ReadCommitted,
        read_ahead: None,
        client_id: String::new(),
    };
    let mut member = connection.join(request).unwrap();
    let Event::Assigned(assignments) = now(member.next_event()) else {
        unreachable!("the first event")
    };
    let mut queues: Vec<_> = assignments
        .into_iter()
        .map(|assignment| assignment.queue)
        .collect();
    for queue in &mut queues {
        queue.seek(SeekTo::Earliest);
    }
    Assigned {
        _member: member,
        queues,
    }
}

/// In batches of 500, reading every key.
#[divan::bench]
fn poll(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(10 * RECORDS))
        .with_inputs(assigned)
        .bench_local_refs(|assigned| {
            let mut cx = Context::from_waker(Waker::noop());
            let mut sum = 0;
            for queue in &mut assigned.queues {
                while let Poll::Ready(batch) = queue.poll_batch(&mut cx, 500) {
                    sum += read(batch.unwrap());
                }
            }
            sum
        });
}

fn read(mut batch: Batch) -> usize {
    let mut sum = 0;
    while let Some(record) = batch.record(0, Partition::new(0)) {
        sum += record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
        batch.advance();
    }
    sum
}
