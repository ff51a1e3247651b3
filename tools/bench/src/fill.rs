//! Fills a topic.

use std::sync::Arc;

use kproc::{
    SystemClock,
    cluster::{
        Cluster, NewTopic, Producer, ProducerOptions,
        kafka::{KafkaCluster, KafkaOptions},
    },
    outbox::{Outbox, RawRecord},
};

use crate::args::Args;

/// How many records are handed over at once.
const PIECE: u64 = 10_000;

pub(crate) fn fill(args: &Args) -> Result<String, String> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let executor = executor.map_err(|error| error.to_string())?;
    executor
        .block_on(filled(args))
        .map(|records| format!("{{\"filled\":{records}}}"))
}

/// A link to the brokers.
pub(crate) fn connect(args: &Args) -> Result<KafkaCluster, String> {
    connected(args, &[])
}

fn connected(args: &Args, properties: &[(String, String)]) -> Result<KafkaCluster, String> {
    let brokers = args.text("brokers")?.split(',').map(str::to_owned).collect();
    let mut options = KafkaOptions::new(brokers, Arc::new(SystemClock::new()));
    for (name, value) in properties {
        options.properties.set(name, value);
    }
    KafkaCluster::new(options).map_err(|error| error.to_string())
}

async fn filled(args: &Args) -> Result<u64, String> {
    let topic: Arc<str> = args.text("topic")?.into();
    let records = args.number("records", 1_000_000)?;
    let keys = args.number("keys", 100_000)?.max(1);
    let size = args.number("value-size", 100)? as usize;
    let cluster = connected(args, &args.properties)?;
    make_topic(&cluster, &topic, args.number("partitions", 4)? as u32).await?;
    let mut producer = cluster
        .producer(ProducerOptions::default())
        .map_err(|error| error.to_string())?;
    // The keys in an order that looks like chance; all of them come, if there are as many records.
    let step = (keys / 2 + 1..keys)
        .find(|step| coprime(*step, keys))
        .unwrap_or(1);
    let value: Vec<u8> = (0..size).map(|place| b'a' + (place * 7 % 26) as u8).collect();
    let mut outbox = Outbox::default();
    for number in 0..records {
        let key = format!("user-{:06}", number % keys * step % keys);
        let record = RawRecord {
            key: Some(key.as_bytes()),
            value: Some(&value),
            ..RawRecord::default()
        };
        outbox.push_raw(&topic, &record);
        if (number + 1) % PIECE == 0 || number + 1 == records {
            written(producer.as_mut(), &mut outbox).await?;
        }
    }
    producer.flush().await.map_err(|error| error.to_string())?;
    Ok(records)
}

async fn written(producer: &mut dyn Producer, outbox: &mut Outbox) -> Result<(), String> {
    producer.send(outbox).await.map_err(|error| error.to_string())
}

/// Makes a topic, if it is not there.
pub(crate) async fn make_topic(
    cluster: &KafkaCluster,
    topic: &Arc<str>,
    partitions: u32,
) -> Result<(), String> {
    let mut admin = cluster.admin().map_err(|error| error.to_string())?;
    let described = admin.describe(vec![topic.clone()]).await;
    if described.map_err(|error| error.to_string())?[0].is_some() {
        return Ok(());
    }
    let topic = NewTopic {
        name: topic.clone(),
        partitions,
        config: Vec::new(),
    };
    let made = admin
        .create(vec![topic])
        .await
        .map_err(|error| error.to_string())?;
    made.into_iter()
        .collect::<Result<Vec<()>, _>>()
        .map(|_| ())
        .map_err(|error| error.to_string())
}

fn coprime(mut a: u64, mut b: u64) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}
