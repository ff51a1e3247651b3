//! Brokers that ask who is there.

#[cfg(feature = "kafka-tls")]
mod tls;

use std::{sync::Arc, time::Duration};

use kproc::{
    App, Clock, SystemClock,
    cluster::{
        ClusterErrorKind,
        kafka::{KafkaCluster, KafkaOptions, TokenProvider},
    },
};

use crate::{
    broker::TestBroker,
    kit::{Site, block_on, stop},
};

/// A broker whose listener wants a password. (The listener's name says nothing of its protocol.)
static PLAIN: TestBroker = TestBroker::new(&[
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms=PLAIN",
    "sasl.mechanism.inter.broker.protocol=PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config=\
     org.apache.kafka.common.security.plain.PlainLoginModule required \
     username=\"broker\" password=\"inner\" user_broker=\"inner\" user_app=\"tiger\";",
]);

fn plain(password: &str) -> [(&'static str, &str); 4] {
    [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "app"),
        ("sasl.password", password),
    ]
}

/// A site behind these properties.
fn site(brokers: &str, name: &'static str, properties: &[(&str, &str)]) -> Site {
    site_with(brokers, name, properties, None)
}

/// As above, with tokens from there.
fn site_with(
    brokers: &str,
    name: &'static str,
    properties: &[(&str, &str)],
    tokens: Option<TokenProvider>,
) -> Site {
    let clock = Arc::new(SystemClock::new());
    let mut options = KafkaOptions::new(vec![brokers.to_owned()], clock.clone());
    for (name, value) in properties {
        options.properties.set(*name, *value);
    }
    options.tokens = tokens;
    Site {
        brokers: brokers.to_owned(),
        name,
        cluster: Arc::new(KafkaCluster::new(options).unwrap()),
        clock,
    }
}

/// An application counts there, by consumer, producer, reader and admin.
async fn counts(site: &Site, properties: &[(&str, &str)]) {
    counts_of(site, properties, |app| app).await;
}

/// As above, after a change of the application.
async fn counts_of(site: &Site, properties: &[(&str, &str)], change: impl FnOnce(App) -> App) {
    site.make_topics(2).await;
    let state = tempfile::tempdir().unwrap();
    let app = site.app(state.path()).configure(|settings| {
        for (name, value) in properties {
            settings.librdkafka.set(*name, *value);
        }
    });
    let running = change(app).start().unwrap();
    site.write(["apple", "plum", "apple"]).await;
    let counts = site.counted(&[&running], 3).await;
    assert_eq!((&*counts["apple"], &*counts["plum"]), (&[1, 2][..], &[1][..]));
    stop(&running, Duration::from_secs(20)).await;
}

#[test]
fn a_password_opens_the_broker() {
    let Some(brokers) = PLAIN.address() else { return };
    let properties = plain("tiger");
    block_on(counts(&site(brokers, "plain", &properties), &properties));
}

/// A wrong password ends every verb soon, with the reason and without the password.
#[test]
fn h03_a_wrong_password_is_told_and_not_shown() {
    let Some(brokers) = PLAIN.address() else { return };
    let properties = plain("hunter2");
    let site = site(brokers, "wrong", &properties);
    block_on(async {
        let state = tempfile::tempdir().unwrap();
        let app = site.app(state.path()).configure(|settings| {
            for (name, value) in properties {
                settings.librdkafka.set(name, value);
            }
        });
        let began = site.clock.now();
        let failure = match app.start() {
            Ok(running) => running.wait().await.unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        // The runtime asks a broker that is away again and again, for two minutes.
        let soon = began + Duration::from_secs(90);
        assert!(site.clock.now() < soon, "{failure}");
        assert!(
            failure.to_lowercase().contains("authentication failed"),
            "{failure}"
        );
        assert!(!failure.contains("hunter2"), "{failure}");
        let error = site.admin().describe(vec!["t".into()]).await.unwrap_err();
        assert_eq!(error.kind, ClusterErrorKind::Unauthorized, "{error}");
    });
}
