//! What is written is what is read: content, partitions, timestamps, sizes, order.

use kproc::{
    Partition, Timestamp,
    cluster::{ClusterErrorKind, ProducerOptions},
    outbox::{Outbox, RawRecord},
};

use crate::harness::{Seen, World, at, pair, part, texts, value_in};

pub(crate) async fn content_survives(world: &World) {
    let topic = world.topic(1).await;
    let (key, value): (&[u8], Vec<u8>) = (&[0, 255, 128], (0..=255).collect());
    let headers: &[(&[u8], Option<&[u8]>)] = &[(b"h", Some(b"v")), (&[0xff, 0xfe], Some(b""))];
    let timestamp = Some(Timestamp::from_millis(1_357_035_300_000));
    let record = RawRecord {
        partition: None,
        timestamp,
        key: Some(key),
        value: Some(&value),
        headers,
    };
    world.produce(&topic, &[record]).await;
    let expected = Seen {
        offset: 0,
        timestamp,
        key: Some(key.to_vec()),
        value: Some(value),
        headers: vec![
            (b"h".to_vec(), Some(b"v".to_vec())),
            (vec![0xff, 0xfe], Some(vec![])),
        ],
    };
    assert_eq!(world.read_all(part(&topic, 0)).await, [expected]);
}

/// Scenario B01.
pub(crate) async fn b01_null_and_empty_are_two_things(world: &World) {
    let topic = world.topic(1).await;
    let kinds: [Option<&[u8]>; 3] = [None, Some(b""), Some(b"x")];
    let records: Vec<_> = kinds
        .iter()
        .flat_map(|key| kinds.map(|value| (*key, value)))
        .collect();
    let raw: Vec<_> = records
        .iter()
        .map(|(key, value)| RawRecord {
            key: *key,
            value: *value,
            ..RawRecord::default()
        })
        .collect();
    world.produce(&topic, &raw).await;
    let seen = world.read_all(part(&topic, 0)).await;
    let seen: Vec<_> = seen
        .iter()
        .map(|record| (record.key.as_deref(), record.value.as_deref()))
        .collect();
    assert_eq!(seen, records);
}

/// Scenario B06.
pub(crate) async fn b06_headers_keep_order_nulls_and_repeats(world: &World) {
    let topic = world.topic(1).await;
    let headers: &[(&[u8], Option<&[u8]>)] = &[
        (b"a", None),
        (b"a", Some(b"")),
        (b"a", Some(b"x")),
        (b"B", Some(b"y")),
        (b"", Some(b"nameless")),
    ];
    world
        .produce(
            &topic,
            &[RawRecord {
                headers,
                ..RawRecord::default()
            }],
        )
        .await;
    let seen = world.read_all(part(&topic, 0)).await;
    let seen: Vec<_> = seen[0]
        .headers
        .iter()
        .map(|(name, value)| (&name[..], value.as_deref()))
        .collect();
    assert_eq!(seen, headers);
}

/// Scenario B07.
pub(crate) async fn b07_empty_keys_hash_and_null_keys_spread(world: &World) {
    let (empty, null) = (world.topic(5).await, world.topic(5).await);
    world.produce(&empty, &[pair("", "v"); 50]).await;
    let used = world.read_topic(&empty, 5).await;
    assert_eq!(used.values().filter(|seen| !seen.is_empty()).count(), 1);
    // One call for each record: some clients change the partition of null keys by batch only.
    for _ in 0..50 {
        world
            .produce(
                &null,
                &[RawRecord {
                    value: Some(b"v"),
                    ..RawRecord::default()
                }; 4],
            )
            .await;
    }
    let used = world.read_topic(&null, 5).await;
    assert!(used.values().filter(|seen| !seen.is_empty()).count() > 1);
}

/// Scenario B19: the limit is that of the record in Kafka's format, a little more than its content.
pub(crate) async fn b19_exactly_the_limit(world: &World) {
    let limit = 2000;
    let topic = world.topic_with(1, &[("max.message.bytes", "2000")]).await;
    // Batch header 61, length 2, fixed 3, null key 1, length of the value 2, no headers 1.
    let largest = limit - 61 - 2 - 3 - 1 - 2 - 1;
    let fits = [limit - 100, largest];
    for (place, size) in fits.iter().enumerate() {
        let value = vec![b'x'; *size];
        let positions = world
            .produce(
                &topic,
                &[RawRecord {
                    value: Some(&value),
                    ..RawRecord::default()
                }],
            )
            .await;
        assert_eq!(positions, [(part(&topic, 0), at(place as u64 + 1))]);
    }
    for size in [largest + 1, limit, limit + 1] {
        let mut producer = world.connect().producer(ProducerOptions::default()).unwrap();
        let (value, mut outbox) = (vec![b'x'; size], Outbox::default());
        outbox.push_raw(
            &topic,
            &RawRecord {
                value: Some(&value),
                ..RawRecord::default()
            },
        );
        // Found by the producer or by the cluster.
        let sent = world.within(producer.send(&mut outbox)).await;
        assert!(outbox.is_empty());
        let outcome = match sent {
            Ok(()) => world.within(producer.flush()).await.map(drop),
            Err(error) => Err(error),
        };
        let error = outcome.unwrap_err();
        assert_eq!(error.kind, ClusterErrorKind::RecordTooLarge, "{size}: {error}");
        for part in [&*topic, "max.message.bytes"] {
            assert!(error.message.contains(part), "{error}");
        }
    }
    assert_eq!(world.read_all(part(&topic, 0)).await.len(), fits.len());
}

/// Partitions of keys, computed with the Java client's partitioner: murmur2 of the key, made positive, modulo.
pub(crate) async fn partitions_are_those_of_the_java_client(world: &World) {
    let topic = world.topic(12).await;
    let hashes: [(&str, i32); 6] = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("abc", 479_470_107),
        ("", 275_646_681),
    ];
    for (key, hash) in hashes {
        let positions = world.produce(&topic, &[pair(key, "v")]).await;
        let expected = (hash & i32::MAX) as u32 % 12;
        assert_eq!(positions[0].0, part(&topic, expected), "{key:?}");
    }
}

pub(crate) async fn an_explicit_partition_is_taken(world: &World) {
    let topic = world.topic(3).await;
    for number in [2, 0, 1, 2] {
        let record = RawRecord {
            partition: Some(Partition::new(number)),
            ..pair("the same key", "v")
        };
        world.produce(&topic, &[record]).await;
    }
    let all = world.read_topic(&topic, 3).await;
    assert_eq!(all.values().map(Vec::len).collect::<Vec<_>>(), [1, 1, 2]);

    let mut producer = world.connect().producer(ProducerOptions::default()).unwrap();
    let mut outbox = Outbox::default();
    outbox.push_raw(&topic, &value_in(3, "nowhere"));
    let sent = world.within(producer.send(&mut outbox)).await;
    let outcome = sent.and(world.within(producer.flush()).await.map(drop));
    assert_eq!(outcome.unwrap_err().kind, ClusterErrorKind::UnknownTopic);
}

/// Scenario B22: zero is a time like any other.
pub(crate) async fn b22_timestamps_are_kept_and_given(world: &World) {
    let topic = world.topic(1).await;
    let times = [0, 1, 1_357_035_300_000].map(|millis| Some(Timestamp::from_millis(millis)));
    let records: Vec<_> = times
        .iter()
        .map(|timestamp| RawRecord {
            timestamp: *timestamp,
            ..pair("k", "v")
        })
        .collect();
    world.produce(&topic, &records).await;
    let before = world.clock.wall();
    world.produce(&topic, &[pair("k", "v")]).await;
    let seen = world.read_all(part(&topic, 0)).await;
    let seen: Vec<_> = seen.iter().map(|record| record.timestamp).collect();
    let first = i64::from(!world.harness.writes_time_zero());
    assert_eq!(seen[0], Some(Timestamp::from_millis(first)));
    assert_eq!(seen[1..3], times[1..]);
    let given = seen[3].unwrap();
    assert!(given >= before && given <= world.clock.wall());
}

pub(crate) async fn flush_says_where_records_are(world: &World) {
    let topic = world.topic(2).await;
    let mut producer = world.connect().producer(ProducerOptions::default()).unwrap();
    let mut outbox = Outbox::default();
    for records in [
        &[value_in(0, "a"), value_in(1, "b"), value_in(0, "c")][..],
        &[value_in(0, "d")],
    ] {
        for record in records {
            outbox.push_raw(&topic, record);
        }
        world.within(producer.send(&mut outbox)).await.unwrap();
    }
    let positions = world.within(producer.flush()).await.unwrap();
    assert_eq!(positions, [(part(&topic, 0), at(3)), (part(&topic, 1), at(1))]);
    assert_eq!(
        world.within(producer.flush()).await.unwrap(),
        [],
        "nothing since the last flush"
    );
}

pub(crate) async fn order_within_a_partition(world: &World) {
    let topic = world.topic(2).await;
    let values: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let mut producer = world.connect().producer(ProducerOptions::default()).unwrap();
    let mut outbox = Outbox::default();
    for chunk in values.chunks(37) {
        for value in chunk {
            outbox.push_raw(&topic, &pair("one key", value));
        }
        world.within(producer.send(&mut outbox)).await.unwrap();
    }
    world.within(producer.flush()).await.unwrap();
    let all = world.read_topic(&topic, 2).await;
    let used = all.values().find(|seen| !seen.is_empty()).unwrap();
    assert_eq!(texts(used), values);
    assert!(
        used.iter()
            .zip(0..)
            .all(|(record, offset)| record.offset == offset)
    );
}
