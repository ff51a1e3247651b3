use super::*;
use crate::{clock::SystemClock, cluster::kafka::native::features};

fn options(properties: &[(&str, &str)]) -> KafkaOptions {
    let mut options = KafkaOptions::new(vec!["localhost:9092".into()], Arc::new(SystemClock::new()));
    for (name, value) in properties {
        options.properties.set(*name, *value);
    }
    options
}

/// What these options are refused for.
fn refused(properties: &[(&str, &str)]) -> String {
    match Config::new(options(properties)) {
        Ok(_) => panic!("{properties:?} are taken"),
        Err(error) => error.message,
    }
}

#[test]
fn the_user_wins_over_defaults() {
    let config = Config::new(options(&[("linger.ms", "0"), ("compression.codec", "none")])).unwrap();
    let built = config.producer(&ProducerOptions::default());
    let value = |name: &str| {
        let values: Vec<_> = built.iter().filter(|(it, _)| it == name).collect();
        assert_eq!(values.len(), 1, "{name}");
        values[0].1.clone()
    };
    assert_eq!(
        (value("linger.ms"), value("compression.codec")),
        ("0".into(), "none".into())
    );
    assert_eq!(value("partitioner"), "murmur2_random");
}

/// What only librdkafka knows, and tells when a client is made: it is asked before one is needed.
#[test]
fn properties_that_do_not_fit_each_other_are_found_first() {
    for (properties, wanted) in [
        (&[("max.in.flight", "6")][..], "`max.in.flight` must be set <= 5"),
        (&[("retries", "0")], "`retries` must be set >= 1"),
        (&[("message.send.max.retries", "0")], "`retries` must be set >= 1"),
        (
            &[("fetch.max.bytes", "100")],
            "`fetch.max.bytes` must be >= `message.max.bytes`",
        ),
        (
            &[("delivery.timeout.ms", "1"), ("linger.ms", "5")],
            "`message.timeout.ms` must be greater than `linger.ms`",
        ),
        (
            &[("reconnect.backoff.ms", "600")],
            "`reconnect.backoff.max.ms` must be >= `reconnect.backoff.ms`",
        ),
    ] {
        let text = refused(properties);
        assert!(text.contains(wanted), "{properties:?}: {text}");
    }
}

#[test]
fn every_fault_is_told_at_once() {
    let text = refused(&[
        ("group.id", "x"),
        ("lingr.ms", "5"),
        ("fetch.wait.max.ms", "soon"),
        ("compression.codec", "zip"),
        ("ssl.key.location", "/nowhere"),
        ("sasl.username", "app"),
    ]);
    for wanted in [
        "property `group.id` cannot be set: it is the application's id",
        "there is no property `lingr.ms`; did you mean `linger.ms`?",
        "property `fetch.wait.max.ms`: Invalid value",
        "property `compression.codec`: Invalid value \"zip\"",
        "`ssl.key.location",
        "`sasl.username` is set, but nobody logs in",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}

#[test]
fn h03_secrets_are_in_no_error() {
    let text = refused(&[
        ("sasl.password", "hunter2"),
        ("sasl.passwrd", "hunter2"),
        ("ssl.key.pem", "hunter2"),
        ("ssl.ca.pem", "-----BEGIN hunter2-----\nhunter2\n"),
        ("ssl.key.location", "-----BEGIN PRIVATE KEY-----\nhunter2\n"),
        ("sasl.oauthbearer.client.secret", "hunter2\0"),
        ("sasl.oauthbearer.config", "hunter2\0"),
        ("sasl.jaas.config", "password=hunter2"),
        ("group.id", "hunter2"),
    ]);
    assert!(
        text.contains("`sasl.jaas.config` cannot be set: only Java reads it"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
    assert!(
        text.contains("there is no property `sasl.passwrd`; did you mean `sasl.password`?"),
        "{text}"
    );
}

/// The whole matrix, in the build that the tests are made with.
#[test]
fn h02_what_is_built_in_is_taken_and_what_is_not_names_its_feature() {
    let features = features();
    for (properties, needs, switch) in [
        (&[("security.protocol", "plaintext")][..], None, ""),
        (&[("compression.codec", "lz4")], None, ""),
        (&[("compression.codec", "zstd")], Some("zstd"), "kafka-zstd"),
        (&[("compression.type", "zstd")], Some("zstd"), "kafka-zstd"),
        (&[("security.protocol", "SSL")], Some("ssl"), "kafka-tls"),
        (
            &[
                ("security.protocol", "sasl_plaintext"),
                ("sasl.mechanism", "PLAIN"),
                ("sasl.username", "u"),
                ("sasl.password", "p"),
            ],
            None,
            "",
        ),
        (
            &[
                ("security.protocol", "sasl_plaintext"),
                ("sasl.mechanisms", "SCRAM-SHA-512"),
                ("sasl.username", "u"),
                ("sasl.password", "p"),
            ],
            Some("sasl_scram"),
            "kafka-tls",
        ),
        (
            &[
                ("security.protocol", "sasl_plaintext"),
                ("sasl.mechanism", "OAUTHBEARER"),
                ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
                ("sasl.oauthbearer.config", "principal=app"),
            ],
            Some("sasl_oauthbearer"),
            "kafka-tls",
        ),
        (
            &[
                ("security.protocol", "sasl_plaintext"),
                ("sasl.mechanism", "GSSAPI"),
            ],
            Some("sasl_gssapi"),
            "kafka-gssapi",
        ),
    ] {
        match (needs, Config::new(options(properties))) {
            (Some(needed), Err(error)) if !features.iter().any(|it| it == needed) => {
                assert!(error.message.contains(switch), "{properties:?}: {error}");
            }
            (_, outcome) => {
                let error = outcome.err().map(|error| error.message);
                assert_eq!(error, None, "{properties:?} with {features:?}");
            }
        }
    }
}

/// H01: an OpenSSL that is built in has no place of its own.
#[test]
fn h01_tls_has_authorities_or_says_what_to_set() {
    if !features().iter().any(|it| it == "ssl") {
        return;
    }
    let location = |properties: &[(&str, &str)]| {
        let config = Config::new(options(properties)).unwrap();
        let built = config.reader(Isolation::ReadCommitted);
        let found = built.into_iter().find(|(name, _)| name == "ssl.ca.location");
        found.map(|(_, value)| value)
    };
    assert_eq!(location(&[]), None);
    match Config::new(options(&[("security.protocol", "ssl")])) {
        Ok(_) => assert!(Path::new(&location(&[("security.protocol", "ssl")]).unwrap()).exists()),
        Err(error) => assert!(error.message.contains("set `ssl.ca.location`"), "{error}"),
    }
}
