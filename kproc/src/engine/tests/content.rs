//! What arrives and what is sent: null, empty, headers, timestamps, coordinates.

use super::*;

const RAW: Topic<bytes::Bytes, bytes::Bytes> = Topic::new("out");

#[test]
fn b01_b05_null_and_empty_are_two_things_on_the_way_in_and_out() {
    let diary = Diary::default();
    let note = diary.clone();
    let mut rig = script()
        .on_record(move |_, ctx, record| {
            note.note(format!("{:?} {:?}", record.key, record.value));
            ctx.send(&RAW, record.key, record.value)?;
            Ok(())
        })
        .rig();
    let cases = [
        (None, None),
        (None, Some(&b""[..])),
        (Some(&b""[..]), None),
        (Some(b""), Some(b"")),
        (Some(b"k"), Some(b"v")),
    ];
    let fed: Vec<_> = cases
        .iter()
        .map(|&(key, value)| Fed {
            key,
            value,
            ..rec("", 7)
        })
        .collect();
    rig.feed("a", &fed);
    rig.run().unwrap();
    assert_eq!(
        diary.read(),
        [
            "None None",
            "None Some([])",
            "Some([]) None",
            "Some([]) Some([])",
            "Some([107]) Some([118])"
        ]
    );
    let sent = rig.sent();
    let bytes: Vec<_> = sent
        .iter()
        .map(|sent| (sent.key.as_deref(), sent.value.as_deref()))
        .collect();
    assert_eq!(bytes, cases);
    assert!(
        sent.iter()
            .all(|sent| sent.timestamp == Some(7) && sent.partition.is_none())
    );
}

#[test]
fn b01_a_tombstone_can_be_sent() {
    let mut rig = script()
        .on_record(|_, ctx, _| {
            ctx.send(&OUT, "gone", Null)?;
            ctx.send(&OUT, "gone", None::<&i64>)?;
            ctx.send(&OUT, Null, &1)?;
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 0)]);
    rig.run().unwrap();
    let sent = rig.sent();
    assert_eq!(
        (sent[0].key.as_deref(), sent[0].value.as_deref()),
        (Some(&b"gone"[..]), None)
    );
    assert_eq!(sent[0], sent[1]);
    assert_eq!(
        (sent[2].key.as_deref(), sent[2].value.as_deref()),
        (None, Some(&n(1)[..]))
    );
}

#[test]
fn b06_headers_keep_null_empty_repeats_and_order() {
    let mut rig = script()
        .on_record(|_, ctx, _| {
            let headers = ctx.headers();
            ctx.message(&OUT, "k", &1).headers(headers).send()?;
            // What the context lends of the record is still there after a send.
            assert_eq!(headers.get("a"), Some(Some(&b"x"[..])));
            assert_eq!(headers.get("none"), None);
            ctx.message(&OUT, "k", &1)
                .null_header("a")
                .header("a", "")
                .header("a", b"x")
                .header("B", "y")
                .send()?;
            Ok(())
        })
        .rig();
    let headers: &[(&str, Option<&[u8]>)] = &[
        ("a", None),
        ("a", Some(b"")),
        ("a", Some(b"x")),
        ("B", Some(b"y")),
    ];
    rig.feed(
        "a",
        &[Fed {
            headers,
            ..rec("1", 0)
        }],
    );
    rig.run().unwrap();
    let sent = rig.sent();
    let expected: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.map(<[u8]>::to_vec)))
        .collect();
    assert_eq!(sent[0].headers, expected);
    assert_eq!(sent[1], sent[0]);
}

#[test]
fn a_message_has_a_partition_and_a_timestamp_if_it_is_given_them() {
    let mut rig = script()
        .on_record(|_, ctx, _| {
            ctx.message(&OUT, "k", &1).send()?;
            let message = ctx.message(&OUT, "k", &1).partition(Partition::new(9));
            message.timestamp(Timestamp::from_millis(44)).send()?;
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 7)]);
    rig.run().unwrap();
    let sent = rig.sent();
    assert_eq!((sent[0].partition, sent[0].timestamp), (None, Some(7)));
    assert_eq!((sent[1].partition, sent[1].timestamp), (Some(9), Some(44)));
}

#[test]
fn a_message_that_is_not_sent_leaves_nothing() {
    let mut rig = script()
        .on_record(|_, ctx, _| {
            drop(ctx.message(&OUT, "unsent", &1).header("a", "b"));
            let early = ctx.message(&OUT, "early", &1).timestamp(Timestamp::from_millis(-1)).send();
            assert_eq!(
                early.unwrap_err().to_string(),
                "cannot send to topic `out`: its timestamp would be 1969-12-31T23:59:59.999Z, and Kafka knows none \
                 before 1970"
            );
            ctx.send(&OUT, "sent", &1)?;
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 7)]);
    rig.run().unwrap();
    assert_eq!(rig.task.outbox().bytes(), "sent".len() + 8);
    assert_eq!(keys(&rig.sent()), ["sent"]);
}

/// Its codec writes a part before it fails.
#[derive(Clone, Copy)]
struct Half;

impl crate::codec::Encode<String> for Half {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), crate::EncodeError> {
        out.extend_from_slice(b"half");
        Err(crate::EncodeError::new("string", "no more ink"))
    }
}

#[test]
fn a_value_that_cannot_be_encoded_leaves_nothing_and_says_where() {
    const TEXT: Topic<String, String> = Topic::new("text");
    let mut rig = script()
        .on_record(|_, ctx, _| {
            let error = ctx.send(&TEXT, "key", &Half).unwrap_err();
            assert_eq!(
                error.to_string(),
                "cannot send to topic `text`: string: no more ink"
            );
            ctx.send(&TEXT, &Half, "value").unwrap_err();
            ctx.message(&TEXT, "key", &Half)
                .header("a", "b")
                .send()
                .unwrap_err();
            ctx.send(&TEXT, "key", "value")?;
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 7)]);
    rig.run().unwrap();
    assert_eq!(rig.task.outbox().bytes(), 8);
    assert_eq!(rig.sent().len(), 1);
}

#[test]
fn topics_are_bound_to_their_names_in_the_cluster_and_known_by_their_names_in_the_program() {
    let bindings = [("out", "prod.out"), ("dynamic", "prod.dynamic")];
    let bindings = bindings
        .map(|(name, target)| (Arc::from(name), Arc::from(target)))
        .into();
    let bindings = Arc::new(crate::outbox::Bindings::new("app".into(), bindings));
    let mut outbox = crate::outbox::Outbox::with_bindings(bindings.clone());
    let dynamic = Topic::<String, i64>::named("dynamic").unwrap();
    for topic in [
        &OUT,
        &Topic::named("out").unwrap(),
        &dynamic,
        &dynamic.clone(),
        &A,
    ] {
        crate::message::send(&mut outbox, topic, &"k", &&1, None).unwrap();
    }
    let names: Vec<_> = outbox.iter().map(|record| record.topic.to_string()).collect();
    assert_eq!(
        names,
        ["prod.out", "prod.out", "prod.dynamic", "prod.dynamic", "a"]
    );
    let mut ids: Vec<_> = outbox
        .iter()
        .map(|record| format!("{:?}", record.topic_id))
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 3, "one topic has one number, however its name is kept");
    let sent = bindings.sent();
    let known: Vec<_> = sent
        .values()
        .map(|topic| (topic.name.to_string(), (topic.value.name)()))
        .collect();
    assert_eq!(
        known,
        ["a", "dynamic", "out"].map(|name| (name.to_string(), "i64".into()))
    );
}

/// In whatever order program and engine meet the topic.
#[test]
fn names_of_changelogs_are_refused_to_the_program_and_not_to_the_engine() {
    let (name, other) = ("app-one-counts-changelog", "other-one-counts-changelog");
    let bindings = [("alias".into(), name.into())].into();
    let bindings = Arc::new(crate::outbox::Bindings::new("app".into(), bindings));
    for engine_first in [true, false] {
        let mut outbox = crate::outbox::Outbox::with_bindings(bindings.clone());
        let changelog = engine_first.then(|| outbox.changelog(&name.into()));
        for topic in ["alias", name] {
            let topic = Topic::<String, i64>::named(topic).unwrap();
            let refused = crate::message::send(&mut outbox, &topic, &"k", &&1, None);
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(topic.name()) && error.contains(name), "{error}");
        }
        assert!(outbox.is_empty() && outbox.bytes() == 0);
        let other = Topic::<String, i64>::named(other).unwrap();
        crate::message::send(&mut outbox, &other, &"k", &&1, None).unwrap();
        let changelog = changelog.unwrap_or_else(|| outbox.changelog(&name.into()));
        let partition = Partition::new(3);
        assert!(outbox.push_changelog(changelog, partition, b"k", None).is_ok());
        let limit = crate::outbox::Limit {
            bytes: 1000,
            partitions: 4,
        };
        bindings.limits().learn(&name.into(), limit);
        outbox.refresh();
        assert!(!outbox.has_misfit(), "changelogs may be written");
        assert_eq!(outbox.len(), 2);
        let named = Topic::<String, i64>::named(name).unwrap();
        crate::message::send(&mut outbox, &named, &"k", &&1, None).unwrap_err();
    }
}

#[test]
fn the_context_knows_the_records_coordinates_and_a_timer_has_none() {
    let diary = Diary::default();
    let (one, two) = (diary.clone(), diary.clone());
    let mut rig = script()
        .every(1_000, TimerClock::Wall)
        .on_record(move |_, ctx, record| {
            assert_eq!(
                (ctx.offset(), ctx.timestamp()),
                (Some(record.offset), record.timestamp)
            );
            one.note(format!(
                "{} {}[{}] {} {} wall {}",
                ctx.task(),
                ctx.topic().unwrap(),
                ctx.partition().unwrap(),
                ctx.offset().unwrap(),
                ctx.timestamp().unwrap().as_millis(),
                ctx.wall_time().since(START).as_millis(),
            ));
            Ok(())
        })
        .on_timer(move |_, ctx, _, now| {
            assert_eq!(
                (ctx.topic(), ctx.partition(), ctx.offset(), ctx.timestamp()),
                (None, None, None, None)
            );
            assert!(ctx.headers().is_empty());
            assert_eq!(now, ctx.wall_time());
            two.note(format!(
                "{} timer, stream time {}",
                ctx.task(),
                ctx.stream_time().unwrap().as_millis()
            ));
            ctx.send(&OUT, "k", &1)?;
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 7), rec("2", 0)]);
    rig.advance(20);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["0_3 a[3] 0 7 wall 20", "0_3 a[3] 1 0 wall 20"]);
    rig.advance(1_000);
    rig.run().unwrap();
    assert_eq!(diary.read(), ["0_3 timer, stream time 7"]);
    // What a timer sends has the time of its clock.
    assert_eq!(rig.sent()[0].timestamp, Some(START.as_millis() + 1_020));
}

#[test]
fn a_record_is_decoded_by_its_topics_codecs() {
    let mut rig = script()
        .on_record(|_, ctx, record| {
            let (key, value) = record.decode(&A)?;
            let key: Option<&str> = key;
            assert_eq!(value, (ctx.offset() == Some(Offset::ZERO)).then_some(1));
            Ok(ctx.send(&OUT, key, &1)?)
        })
        .rig();
    rig.feed(
        "a",
        &[
            rec("lent", 1),
            Fed {
                value: None,
                ..rec("lent", 1)
            },
            Fed {
                value: Some(b"four"),
                ..rec("lent", 1)
            },
        ],
    );
    let failure = rig.run().unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Deserialization);
    assert_eq!(
        failure.to_string(),
        "processor `p0`, record a[3] offset 2: the record's value cannot be read: i64: wants 8 bytes, got 4 bytes"
    );
    assert_eq!(keys(&rig.sent()), ["lent", "lent"]);
}
