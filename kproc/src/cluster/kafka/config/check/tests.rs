use std::{sync::Arc, time::SystemTime};

use super::*;
use crate::{clock::SystemClock, cluster::kafka::Token};

fn options(properties: &[(&str, &str)]) -> KafkaOptions {
    let mut options = KafkaOptions::new(vec!["localhost:9092".into()], Arc::new(SystemClock::new()));
    for (name, value) in properties {
        options.properties.set(*name, *value);
    }
    options
}

/// What a build without any feature has.
fn plain() -> Vec<String> {
    ["gzip", "snappy", "sasl", "regex", "lz4", "sasl_plain", "plugins"]
        .map(str::to_owned)
        .to_vec()
}

/// What every other build has, beside that.
fn all() -> Vec<String> {
    let others = [
        "ssl",
        "sasl_gssapi",
        "sasl_scram",
        "zstd",
        "sasl_oauthbearer",
        "http",
        "oidc",
    ];
    plain().into_iter().chain(others.map(str::to_owned)).collect()
}

#[test]
fn c15_c19_what_is_kprocs_is_refused_with_the_reason_under_each_of_its_names() {
    for (name, value, why) in [
        ("partition.assignment.strategy", "cooperative-sticky", "`range`"),
        ("partition.assignment.strategy", "range", "`range`"),
        (
            "partition.assignment.strategy",
            "range,cooperative-sticky",
            "`range`",
        ),
        ("group.instance.id", "worker-1", "static member"),
        ("group.id", "x", "application's id"),
        ("bootstrap.servers", "x:1", "`brokers`"),
        ("metadata.broker.list", "x:1", "`brokers`"),
        ("acks", "1", "lost"),
        ("request.required.acks", "1", "lost"),
        ("enable.auto.commit", "true", "`commit_interval`"),
        ("auto.commit.enable", "true", "`commit_interval`"),
        ("session.timeout.ms", "1", "`session_timeout`"),
        ("heartbeat.interval.ms", "1", "`heartbeat_interval`"),
        ("api.version.request", "false", "which requests"),
        ("enable.gapless.guarantee", "true", "fall back"),
        ("stats_cb", "x", "no setting"),
        ("opaque", "x", "no setting"),
    ] {
        let faults = faults(&options(&[(name, value)]), &all());
        assert!(faults.len() == 1 && faults[0].contains(why), "{name}: {faults:?}");
        assert!(
            faults[0].contains(&format!("`{name}` cannot be set")),
            "{faults:?}"
        );
    }
}

/// Every property that kproc sets itself, over the user's, is one that the user cannot set.
#[test]
fn what_kproc_sets_over_the_user_is_owned() {
    let config = super::super::Config::new(options(&[])).unwrap();
    let request = crate::cluster::JoinRequest {
        group: "g".into(),
        topics: Vec::new(),
        session_timeout: std::time::Duration::from_secs(1),
        heartbeat_interval: None,
        read_ahead: Some(1 << 20),
        revoke_timeout: std::time::Duration::from_secs(1),
        isolation: crate::cluster::Isolation::ReadCommitted,
        client_id: "c".into(),
    };
    let producer = crate::cluster::ProducerOptions {
        transactional_id: Some("t".into()),
        ..Default::default()
    };
    let built = [
        config.member(&request, super::super::Protocol::Consumer),
        config.member(&request, super::super::Protocol::Classic),
        config.producer(&producer),
        config.reader(crate::cluster::Isolation::ReadCommitted),
        config.admin(),
    ];
    let defaults = [
        super::super::COMMON,
        super::super::CONSUMER,
        super::super::PRODUCER,
        &[super::super::CONNECTED],
    ]
    .concat();
    let limits = super::super::limits::read_ahead(1 << 20);
    for (name, _) in built.iter().flatten() {
        // What follows from `memory` is a default, too, of a value that is computed.
        let default = defaults.iter().any(|(it, _)| it == name)
            || name == "statistics.interval.ms"
            || limits.iter().any(|(it, _)| it == name);
        assert!(default || owner_of(name).is_some(), "{name}");
    }
}

#[test]
fn h02_the_missing_feature_is_named() {
    for (name, value, switch) in [
        ("security.protocol", "SASL_SSL", "kafka-tls"),
        ("security.protocol", "ssl", "kafka-tls"),
        ("ssl.endpoint.identification.algorithm", "https", "kafka-tls"),
        ("enable.ssl.certificate.verification", "true", "kafka-tls"),
        ("sasl.mechanism", "GSSAPI", "kafka-gssapi"),
        ("sasl.kerberos.service.name", "kafka", "kafka-gssapi"),
        ("sasl.mechanisms", "SCRAM-SHA-512", "kafka-tls"),
        ("sasl.mechanism", "scram-sha-256", "kafka-tls"),
        ("sasl.mechanism", "OAUTHBEARER", "kafka-tls"),
        ("sasl.oauthbearer.config", "principal=a", "kafka-tls"),
        ("sasl.oauthbearer.method", "oidc", "App::tokens"),
        ("https.ca.location", "probe", "App::tokens"),
        ("compression.codec", "zstd", "kafka-zstd"),
        ("compression.type", "zstd", "kafka-zstd"),
    ] {
        let (feature, how) = needed_feature(name, value).unwrap();
        assert!(how.contains(switch), "{name}: {how}");
        assert!(all().iter().any(|it| it == feature), "{feature}");
        let faults = faults(&options(&[(name, value)]), &plain());
        assert!(
            faults
                .iter()
                .any(|fault| fault.contains(switch) && fault.contains(name)),
            "{faults:?}"
        );
    }
    assert_eq!(
        faults(&options(&[("security.protocol", "plaintext")]), &plain()),
        [""; 0]
    );
}

#[test]
fn protection_that_would_not_be_there_is_refused() {
    let found = |properties: &[(&str, &str)]| combination_faults(&options(properties)).join("\n");
    for (properties, wanted) in [
        (
            &[("sasl.username", "u"), ("sasl.password", "p")][..],
            "nobody logs in",
        ),
        (&[("ssl.ca.location", "/ca")], "nothing is encrypted"),
        (&[("security.protocol", "sasl_ssl")], "does not say which"),
        (
            &[
                ("security.protocol", "sasl_ssl"),
                ("sasl.mechanism", "PLAIN"),
                ("sasl.username", "u"),
            ],
            "`sasl.password` is missing",
        ),
        (
            &[
                ("security.protocol", "sasl_ssl"),
                ("sasl.mechanism", "OAUTHBEARER"),
            ],
            "App::tokens",
        ),
    ] {
        assert!(
            found(properties).contains(wanted),
            "{properties:?}: {}",
            found(properties)
        );
    }
    assert_eq!(
        found(&[
            ("security.protocol", "SASL_SSL"),
            ("sasl.mechanism", "scram-sha-512"),
            ("sasl.username", "u"),
            ("sasl.password", "p"),
            ("ssl.ca.location", "/ca"),
        ]),
        ""
    );
}

#[test]
fn h13_tokens_of_the_program_need_the_mechanism_and_no_other_source() {
    let mut options = options(&[
        ("security.protocol", "sasl_ssl"),
        ("sasl.mechanism", "OAUTHBEARER"),
    ]);
    options.tokens = Some(TokenProvider::new(|| Ok(Token::new("t", SystemTime::UNIX_EPOCH))));
    assert_eq!(combination_faults(&options), [""; 0]);
    options.properties.set("sasl.oauthbearer.method", "oidc");
    assert!(combination_faults(&options)[0].contains("leave out"));
    options.properties = Properties::default();
    assert!(combination_faults(&options)[0].contains("does not log in by them"));
}

#[test]
fn what_weakens_a_protection_is_told() {
    let found =
        |properties: &[(&str, &str)]| Login::of(&options(properties).properties).weaknesses().join("\n");
    assert_eq!(found(&[("security.protocol", "ssl")]), "");
    assert!(
        found(&[
            ("security.protocol", "sasl_plaintext"),
            ("sasl.mechanism", "plain")
        ])
        .contains("unencrypted")
    );
    assert_eq!(
        found(&[("security.protocol", "sasl_ssl"), ("sasl.mechanism", "plain")]),
        ""
    );
    for (name, value) in [
        ("enable.ssl.certificate.verification", "false"),
        ("ssl.endpoint.identification.algorithm", "none"),
    ] {
        assert!(found(&[("security.protocol", "ssl"), (name, value)]).contains(name));
    }
}

#[test]
fn credentials_do_not_belong_into_addresses() {
    let mut options = options(&[]);
    options.brokers.push("SASL_SSL://app:hunter2@host:9093".into());
    let faults = faults(&options, &plain());
    assert!(
        faults.len() == 1 && faults[0].contains("sasl.username"),
        "{faults:?}"
    );
    assert!(!faults[0].contains("hunter2") && !format!("{options:?}").contains("hunter2"));
}
