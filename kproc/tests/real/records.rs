//! Records through a whole application: what is null, empty, repeated or odd comes out as it went in.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kproc::{
    MissingTimestamp, Partition, Processor, Record, Timestamp,
    cluster::{Cluster, Isolation, ProducerOptions},
    outbox::{Outbox, RawRecord},
    prelude::*,
    processor::{Declare, Start},
};

use crate::kit::{Site, block_on, stop};

const IN: Topic<Vec<u8>, Vec<u8>> = Topic::new("in");
const OUT: Topic<Vec<u8>, Vec<u8>> = Topic::new("out");

/// Sends records on as they are, with one more header: the stream time that the task has.
#[derive(Default)]
struct Forward;

impl Processor for Forward {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &IN, Start::Earliest);
        to.output(&OUT);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let time = ctx
            .stream_time()
            .map_or_else(|| "-".to_owned(), |time| time.as_millis().to_string());
        let headers = ctx.headers();
        let message = ctx.message(&OUT, record.key, record.value).headers(headers);
        let message = match record.timestamp {
            Some(timestamp) => message.timestamp(timestamp),
            None => message,
        };
        Ok(message.header("time", time).send()?)
    }
}

/// A record that has been read: key, value, headers, partition, timestamp.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    partition: u32,
    timestamp: Option<i64>,
}

async fn write(site: &Site, records: &[RawRecord<'_>]) {
    let topic: Arc<str> = site.topic("in").into();
    let mut outbox = Outbox::default();
    for record in records {
        outbox.push_raw(&topic, record);
    }
    let mut producer = site.cluster.producer(ProducerOptions::default()).unwrap();
    producer.send(&mut outbox).await.unwrap();
    producer.flush().await.unwrap();
}

/// What is in a topic of so many partitions, partition by partition.
async fn read(site: &Site, topic: &str, partitions: u32) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut reader = site.cluster.reader(Isolation::ReadCommitted).unwrap();
    for number in 0..partitions {
        let place = site.partition(topic, number);
        let ends = reader.watermarks(place.clone()).await.unwrap();
        let mut next = ends.earliest;
        while next < ends.stable {
            let mut read = reader
                .read(place.clone(), next, 1000, Duration::from_secs(10))
                .await
                .unwrap();
            next = read.next;
            while let Some(record) = read.batch.record(0, place.partition) {
                let own = |bytes: &[u8]| bytes.to_vec();
                let headers = record.headers.iter();
                seen.push(Seen {
                    key: record.key.map(own),
                    value: record.value.map(own),
                    headers: headers.map(|(name, value)| (own(name), value.map(own))).collect(),
                    partition: number,
                    timestamp: record.timestamp.map(Timestamp::as_millis),
                });
                read.batch.advance();
            }
        }
    }
    seen
}

/// Runs the application until it has processed what is there.
async fn forward(site: &Site) {
    let state = tempfile::tempdir().unwrap();
    let app = site.app_of(site.name, state.path());
    let app = app.bind(&IN, site.topic("in")).bind(&OUT, site.topic("out"));
    let app = app.configure(|settings| settings.missing_timestamp = MissingTimestamp::StreamTime);
    let running = app.processor::<Forward>().start().unwrap();
    running.drained().await.unwrap();
    stop(&running, Duration::from_secs(20)).await;
}

async fn make_topics(site: &Site, partitions: u32) {
    // Retention counts by the records' own timestamps, which are old here.
    let forever = [("retention.ms", "-1")];
    site.make_topic("in", partitions, &forever).await;
    site.make_topic("out", partitions, &forever).await;
}

#[test]
fn b01_b06_null_and_empty_stay_apart_and_headers_keep_their_order() {
    let Some(site) = Site::shared("b01") else { return };
    block_on(async {
        make_topics(&site, 1).await;
        let (null, empty, some): (Option<&[u8]>, _, _) = (None, Some(&b""[..]), Some(&b"x"[..]));
        let headers = [(&b"a"[..], null), (b"a", empty), (b"a", some), (b"B", Some(b"y"))];
        let mut records = Vec::new();
        for key in [null, empty, some] {
            for value in [null, empty, some] {
                for headers in [&[][..], &headers] {
                    records.push(RawRecord {
                        timestamp: Some(Timestamp::from_millis(1000)),
                        key,
                        value,
                        headers,
                        ..RawRecord::default()
                    });
                }
            }
        }
        write(&site, &records).await;
        forward(&site).await;
        let mut sent = read(&site, "out", 1).await;
        assert_eq!(sent.len(), records.len());
        for seen in &mut sent {
            assert_eq!(
                seen.headers.pop(),
                Some((b"time".to_vec(), Some(b"1000".to_vec())))
            );
        }
        assert_eq!(sent, read(&site, "in", 1).await);
        for (seen, record) in sent.iter().zip(&records) {
            assert_eq!(
                (seen.key.as_deref(), seen.value.as_deref()),
                (record.key, record.value)
            );
            let headers = seen.headers.iter();
            let headers: Vec<_> = headers.map(|(name, value)| (&**name, value.as_deref())).collect();
            assert_eq!(headers, record.headers);
        }
    });
}

#[test]
fn b07_an_empty_key_is_a_key_and_null_keys_spread() {
    let Some(site) = Site::shared("b07") else { return };
    block_on(async {
        make_topics(&site, 5).await;
        let of_key = |key| RawRecord {
            partition: Some(Partition::new(0)),
            key,
            value: Some(b"v"),
            ..RawRecord::default()
        };
        write(&site, &[of_key(Some(b"")); 50]).await;
        forward(&site).await;
        let of_empty: Vec<u32> = read(&site, "out", 5)
            .await
            .iter()
            .map(|seen| seen.partition)
            .collect();
        // As Kafka's own partitioner has it: murmur2 of nothing, in five partitions.
        assert_eq!(of_empty, [275_646_681 % 5; 50]);
        // Those without stay with one partition for a while, as Kafka's clients do, and then choose another.
        for _ in 0..20 {
            write(&site, &[of_key(None); 5]).await;
            forward(&site).await;
            let sent = read(&site, "out", 5).await;
            let nulls = sent.iter().filter(|seen| seen.key.is_none());
            let partitions: BTreeSet<u32> = nulls.map(|seen| seen.partition).collect();
            if partitions.len() > 1 {
                return;
            }
        }
        panic!("all have gone to one partition");
    });
}

#[test]
fn b14_b22_a_timestamp_of_zero_or_none_is_treated_as_is_documented() {
    let Some(site) = Site::shared("b22") else { return };
    block_on(async {
        make_topics(&site, 1).await;
        let at = |millis| RawRecord {
            timestamp: Some(Timestamp::from_millis(millis)),
            value: Some(b"v"),
            ..RawRecord::default()
        };
        // librdkafka writes the timestamp 0 as 1, which is documented; -1 is none.
        write(&site, &[at(0), at(-1), at(5)]).await;
        let before: Vec<_> = read(&site, "in", 1)
            .await
            .iter()
            .map(|seen| seen.timestamp)
            .collect();
        assert_eq!((before.len(), before[0], before[2]), (3, Some(1), Some(5)));
        forward(&site).await;
        let sent = read(&site, "out", 1).await;
        let times: Vec<String> = sent
            .iter()
            .map(|seen| String::from_utf8(seen.headers[0].1.clone().unwrap()).unwrap())
            .collect();
        assert_eq!(times, ["1", "1", "5"], "{before:?}");
    });
}

/// Keeps the last value of each key, and forgets keys whose value is null.
#[processor]
#[derive(Default)]
struct Last {
    #[state]
    last: Table<Vec<u8>, Vec<u8>>,
}

#[processor]
impl Last {
    #[on_message(IN)]
    fn keep(&mut self, ctx: &mut Context<'_>, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let before = self.last.get(key)?.map(<[u8]>::to_vec);
        match value {
            Some(value) => self.last.put(key, value)?,
            None => self.last.delete(key)?,
        }
        Ok(ctx.send(&OUT, key, before.as_deref())?)
    }
}

#[test]
fn b02_b03_b05_tombstones_delete_in_the_store_the_changelog_and_the_restore() {
    let Some(site) = Site::shared("b03") else { return };
    block_on(async {
        make_topics(&site, 1).await;
        let row = |key, value| RawRecord {
            key: Some(key),
            value,
            ..RawRecord::default()
        };
        let run = async || {
            // Everything comes from the changelog each time.
            let state = tempfile::tempdir().unwrap();
            let app = site.app_of(site.name, state.path());
            let app = app.bind(&IN, site.topic("in")).bind(&OUT, site.topic("out"));
            let running = app.processor::<Last>().start().unwrap();
            running.drained().await.unwrap();
            stop(&running, Duration::from_secs(20)).await;
        };
        write(&site, &[row(b"a", Some(b"1")), row(b"b", Some(b""))]).await;
        run().await;
        write(&site, &[row(b"a", None), row(b"c", None)]).await;
        run().await;
        write(&site, &[row(b"a", None), row(b"b", None)]).await;
        run().await;
        let sent = read(&site, "out", 1).await;
        let before: Vec<_> = sent.iter().map(|seen| seen.value.as_deref()).collect();
        assert_eq!(before, [None, None, Some(&b"1"[..]), None, None, Some(b"")]);
        let changelog = read(&site, "last-last-changelog", 1).await;
        let deleted = changelog.iter().filter(|seen| seen.value.is_none()).count();
        assert!(deleted >= 2, "{changelog:?}");
    });
}
