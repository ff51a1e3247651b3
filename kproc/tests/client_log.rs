//! What the Kafka client writes into the log: little, and no secrets.
#![cfg(feature = "kafka")]

use std::{
    io,
    net::TcpListener,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
    time::Duration,
};

use futures_util::future::{join4, select};
use kproc::{
    App, Clock, SystemClock, Timestamp,
    cluster::{
        BoxFuture, Cluster, Isolation, JoinRequest, ProducerOptions,
        kafka::{KafkaCluster, KafkaOptions},
    },
    outbox::{Outbox, RawRecord},
    prelude::*,
};

/// Everything that is logged, of one test at a time: librdkafka's threads know of no other place.
static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ALONE: Mutex<()> = Mutex::new(());

struct Lines;

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn begin() -> MutexGuard<'static, ()> {
    static SET: Once = Once::new();
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    SET.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(|| Lines)
            .init();
    });
    LINES.lock().unwrap().clear();
    alone
}

fn logged() -> String {
    String::from_utf8(LINES.lock().unwrap().clone()).unwrap()
}

/// An address where nobody is.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn block_on<T>(body: impl Future<Output = T>) -> T {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    executor.unwrap().block_on(body)
}

/// Uses each kind of client for some time, in vain.
fn use_all(cluster: &KafkaCluster, clock: &dyn Clock, time: Duration) {
    let request = JoinRequest {
        group: "g".into(),
        topics: vec!["t".into()],
        session_timeout: Duration::from_secs(6),
        heartbeat_interval: None,
        read_ahead: None,
        revoke_timeout: Duration::from_secs(6),
        isolation: Isolation::ReadCommitted,
        client_id: "c".into(),
    };
    let mut member = cluster.join(request).unwrap();
    let mut producer = cluster.producer(ProducerOptions::default()).unwrap();
    let mut admin = cluster.admin().unwrap();
    let mut reader = cluster.reader(Isolation::ReadCommitted).unwrap();
    let mut outbox = Outbox::default();
    outbox.push_raw(&"t".into(), &RawRecord::default());
    block_on(async {
        producer.send(&mut outbox).await.unwrap();
        let place = kproc::TopicPartition::new("t", kproc::Partition::new(0));
        let all = join4(
            member.next_event(),
            producer.flush(),
            admin.describe(vec!["t".into()]),
            reader.watermarks(place),
        );
        select(all, clock.sleep_until(clock.now() + time)).await;
    });
}

/// A clock for which twenty seconds are one.
struct Hasty(SystemClock);

const HASTE: u32 = 20;

impl Clock for Hasty {
    fn now(&self) -> Duration {
        self.0.now() * HASTE
    }

    fn wall(&self) -> Timestamp {
        self.0.wall()
    }

    fn sleep_until(&self, due: Duration) -> BoxFuture<'static, ()> {
        self.0.sleep_until(due / HASTE)
    }

    fn random(&self) -> u64 {
        self.0.random()
    }
}

/// Scenario G15: all clients of an instance, a minute without a broker. (The log's minute: each kind of line comes as
/// often as in a real one.)
#[test]
fn g15_a_minute_without_a_broker_is_a_few_lines() {
    let _alone = begin();
    let clock = Arc::new(Hasty(SystemClock::new()));
    let cluster = KafkaCluster::new(KafkaOptions::new(vec![nowhere()], clock.clone())).unwrap();
    use_all(&cluster, &*clock, Duration::from_secs(60));
    let logged = logged();
    let shown: Vec<_> = logged
        .lines()
        .filter(|line| {
            [" INFO ", " WARN ", "ERROR "]
                .iter()
                .any(|level| line.contains(level))
        })
        .collect();
    println!("{} lines", shown.len());
    assert!(!shown.is_empty(), "an operator must hear of it");
    assert!(shown.len() < 50, "{} lines:\n{}", shown.len(), shown.join("\n"));
}

const MARKER: &str = "hunter2";

/// Every property that may hold a secret, those that nobody has heard of included.
const SECRETS: [&str; 22] = [
    "sasl.password",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.kerberos.kinit.cmd",
    "sasl.jaas.config",
    "sasl.passwrd",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl_key",
    "ssl.keystore.password",
    "ssl.truststore.password",
    "ssl.certificate.pem",
    "my.own-Password",
    "some.token",
    "aws.secret.access.key",
    "vault_credentials",
];

fn app(brokers: Vec<String>, properties: &[(&str, &str)]) -> App {
    #[processor]
    #[derive(Default)]
    struct Nothing {}

    const IN: Topic<String, String> = Topic::new("in");

    #[processor]
    impl Nothing {
        #[on_message(IN)]
        fn take(&mut self, _ctx: &mut Context<'_>, _key: &str, _value: &str) {}
    }

    App::new("secrets").processor::<Nothing>().configure(|settings| {
        settings.brokers = brokers;
        for (name, value) in properties {
            settings.librdkafka.set(*name, *value);
        }
    })
}

/// Scenario H03: whatever is shown of an application, its options and what goes wrong, no secret is in it.
#[test]
fn h03_no_secret_is_in_any_text() {
    let _alone = begin();
    let mut shown = Vec::new();
    let values = [
        MARKER.to_owned(),
        format!("{MARKER}\0"),
        format!("-----BEGIN {MARKER}-----\n{MARKER}\n"),
    ];
    for name in SECRETS {
        for value in &values {
            let properties = [(name, &**value), ("group.id", "x")];
            let app = app(vec!["localhost:1".into()], &properties);
            shown.push(format!("{app:?} {app:#?}"));
            let app = app.configure(|settings| shown.push(format!("{settings:?} {settings:#?}")));
            let error = app.start().expect_err("`group.id` is never taken");
            shown.push(format!("{error} {error:?} {error:#?}"));
            let clock = Arc::new(SystemClock::new());
            let mut options = KafkaOptions::new(vec![format!("ssl://me:{MARKER}@host:1")], clock);
            options.properties.set(name, value);
            options
                .properties
                .set("my.proxy", format!("https://me:{MARKER}@proxy"));
            shown.push(format!("{options:?} {options:#?}"));
            let error = KafkaCluster::new(options).expect_err("credentials are in the address");
            shown.push(format!("{error} {error:?} {error:#?}"));
        }
    }
    for text in &shown {
        assert!(!text.contains(MARKER), "{text}");
    }
    // A start that gets further: clients that tell all they do, and connect to nobody.
    let clock = Arc::new(SystemClock::new());
    let mut options = KafkaOptions::new(vec![nowhere()], clock.clone());
    for (name, value) in [
        ("debug", "all"),
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "app"),
        ("sasl.password", MARKER),
    ] {
        options.properties.set(name, value);
    }
    let cluster = KafkaCluster::new(options).unwrap();
    use_all(&cluster, &*clock, Duration::from_secs(1));
    let logged = logged();
    assert!(
        logged.contains("sasl.password"),
        "librdkafka tells its configuration"
    );
    assert!(!logged.contains(MARKER) && !format!("{cluster:?}").contains(MARKER));
}
