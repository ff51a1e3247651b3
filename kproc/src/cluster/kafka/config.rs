//! What clients are made of: kproc's settings for librdkafka, and the user's.

use std::{fmt, fs, path::Path, sync::Arc, time::Duration};

use super::{
    limits::{self, Limits},
    log::Log,
    native,
};
use crate::{
    clock::Clock,
    cluster::{ClusterError, ClusterErrorKind, Isolation, JoinRequest, ProducerOptions, Result},
    config::Properties,
};

/// How to reach a cluster.
#[derive(Clone)]
#[non_exhaustive]
pub struct KafkaOptions {
    /// Addresses of brokers, `host:port`; one that answers is enough.
    pub brokers: Vec<String>,
    /// Properties by librdkafka's names. They win over kproc's defaults; those that kproc must own are refused.
    pub properties: Properties,
    /// Time, which must be the system's: librdkafka's is.
    pub clock: Arc<dyn Clock>,
}

impl KafkaOptions {
    /// Options without properties.
    pub fn new(brokers: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            brokers,
            properties: Properties::default(),
            clock,
        }
    }
}

/// Shows no secrets.
impl fmt::Debug for KafkaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaOptions")
            .field("brokers", &self.brokers)
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}

/// Properties that are kproc's, and why.
const OWNED: &[(&str, &str)] = &[
    ("bootstrap.servers", "set `brokers` instead"),
    ("metadata.broker.list", "set `brokers` instead"),
    (
        "client.id",
        "it tells the members of the group which program each of them runs",
    ),
    ("group.id", "it is the application's id"),
    (
        "group.protocol",
        "kproc finds out which protocol the brokers have",
    ),
    ("group.remote.assignor", "inputs that are joined need `range`"),
    (
        "partition.assignment.strategy",
        "inputs that are joined need `range`; others part what belongs together",
    ),
    (
        "group.instance.id",
        "kproc leaves its group when it stops, so a static member gains nothing",
    ),
    ("session.timeout.ms", "set `session_timeout` instead"),
    ("heartbeat.interval.ms", "set `heartbeat_interval` instead"),
    (
        "max.poll.interval.ms",
        "kproc polls at all times, and watches its handlers itself",
    ),
    ("enable.auto.commit", "kproc commits offsets together with state"),
    (
        "enable.auto.offset.store",
        "kproc commits offsets together with state",
    ),
    (
        "auto.offset.reset",
        "a position never jumps; where to begin is said by the handler (`start = latest`)",
    ),
    ("isolation.level", "kproc chooses it for each use"),
    ("enable.partition.eof", "kproc finds the ends of partitions by it"),
    ("partitioner", "keys must go where Kafka's own clients send them"),
    (
        "enable.idempotence",
        "without it a retry can write a record twice, or out of order",
    ),
    ("acks", "what is acknowledged by fewer brokers can be lost"),
    (
        "request.required.acks",
        "what is acknowledged by fewer brokers can be lost",
    ),
    ("transactional.id", "each worker has one of its own"),
    ("transaction.timeout.ms", "it follows from kproc's settings"),
    (
        "delivery.report.only.error",
        "changelog positions come from delivery reports",
    ),
];

/// What all clients get unless the user says otherwise, with the reason.
const COMMON: &[(&str, &str)] = &[
    // A broker that is back is used within half a second (default: up to 10 s).
    ("reconnect.backoff.ms", "50"),
    ("reconnect.backoff.max.ms", "500"),
    // Answers of single requests are not held back for more.
    ("socket.nagle.disable", "true"),
    // A connection that waits is closed by firewalls, without a word.
    ("socket.keepalive.enable", "true"),
];

const CONSUMER: &[(&str, &str)] = &[
    // 1000 by default, which costs three quarters of the speed whenever a queue was full.
    ("fetch.queue.backoff.ms", "10"),
    // A partition that is added waits for the fetch on its way; 500 by default.
    ("fetch.wait.max.ms", "100"),
    // Topics that are made later are found within this time.
    ("topic.metadata.refresh.interval.ms", "30000"),
];

const PRODUCER: &[(&str, &str)] = &[
    ("compression.codec", "lz4"),
    ("linger.ms", "5"),
    ("batch.num.messages", "100000"),
    // Topics have limits of their own, which may be larger.
    ("message.max.bytes", "1000000000"),
    // Paid by every transaction that follows another one at once; 100 by default.
    ("retry.backoff.ms", "10"),
];

/// How long a member's rebalance hook may block before librdkafka gives up on it, beyond the time it is given.
const POLL_MARGIN: Duration = Duration::from_secs(300);

/// The properties of a client.
pub(super) type Built = Vec<(String, String)>;

/// Which group protocol a member speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// The brokers assign, one partition at a time (KIP-848).
    Consumer,
    /// The members assign, all partitions at once.
    Classic,
}

/// Builds properties of clients.
pub(super) struct Config {
    brokers: String,
    user: Properties,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) log: Arc<Log>,
}

impl Config {
    /// Checks the options. All faults are told at once.
    pub(super) fn new(options: KafkaOptions) -> Result<Self> {
        let faults = faults(&options, &native::features());
        if !faults.is_empty() {
            let message = format_args!(
                "cannot connect to Kafka with these settings:\n  {}",
                faults.join("\n  ")
            );
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        Ok(Self {
            brokers: options.brokers.join(","),
            log: Log::new(options.clock.clone()),
            user: options.properties,
            clock: options.clock,
        })
    }

    /// Who the brokers take the client for, if its name says so: certificates and tickets do not.
    pub(super) fn principal(&self) -> Option<String> {
        let secured = self.user.get("security.protocol")?.to_ascii_lowercase();
        let name = self.user.get("sasl.username")?;
        secured.starts_with("sasl").then(|| format!("User:{name}"))
    }

    /// Defaults, the user's over them, and what is ours over all.
    fn build(&self, defaults: &[(&str, &str)], limits: &Limits, own: &[(&str, &str)]) -> Built {
        let limits = limits.iter().map(|(name, value)| (*name, &**value));
        let common = COMMON.iter().chain(defaults).copied().chain(limits);
        let mut built = Built::new();
        let given = common.filter(|(name, _)| self.user.get(name).is_none());
        let last = [("bootstrap.servers", &*self.brokers)];
        for (name, value) in given
            .chain(self.user.iter())
            .chain(own.iter().copied())
            .chain(last)
        {
            built.push((name.to_owned(), value.to_owned()));
        }
        built
    }

    /// A member of a group.
    pub(super) fn member(&self, request: &JoinRequest, protocol: Protocol) -> Built {
        let (session, heartbeat) = (request.session_timeout, request.heartbeat());
        let poll = millis(request.revoke_timeout + POLL_MARGIN.max(session));
        let (session, heartbeat) = (millis(session), millis(heartbeat));
        let mut own = vec![
            ("group.id", &*request.group),
            ("client.id", &*request.client_id),
            ("max.poll.interval.ms", &*poll),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            // librdkafka (2.12) takes the end of a partition, read in a batch, for a record: whenever a rebalance
            // pauses the partition after that, it goes on one record too far.
            ("enable.partition.eof", "false"),
            ("auto.offset.reset", "error"),
            ("isolation.level", isolation_level(request.isolation)),
        ];
        match protocol {
            Protocol::Consumer => {
                own.extend([("group.protocol", "consumer"), ("group.remote.assignor", "range")]);
            }
            Protocol::Classic => own.extend([
                ("group.protocol", "classic"),
                ("partition.assignment.strategy", "range"),
                ("session.timeout.ms", &*session),
                ("heartbeat.interval.ms", &*heartbeat),
            ]),
        }
        let limits = limits::read_ahead(request.read_ahead.unwrap_or(limits::READ_AHEAD));
        self.build(CONSUMER, &limits, &own)
    }

    /// A reader outside any group.
    pub(super) fn reader(&self, isolation: Isolation) -> Built {
        let own = [
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("enable.partition.eof", "true"),
            ("auto.offset.reset", "error"),
            ("isolation.level", isolation_level(isolation)),
        ];
        self.build(CONSUMER, &limits::read_ahead(limits::READ_AHEAD), &own)
    }

    /// How large batches become: the user's choice, or librdkafka's.
    fn batch_size(&self) -> usize {
        let user = self.user.get("batch.size").and_then(|size| size.parse().ok());
        user.unwrap_or(1_000_000)
    }

    /// A producer.
    pub(super) fn producer(&self, options: &ProducerOptions) -> Built {
        let timeout = millis(options.transaction_timeout.unwrap_or(TRANSACTION_TIMEOUT));
        let mut own = vec![("enable.idempotence", "true"), ("partitioner", "murmur2_random")];
        if let Some(id) = &options.transactional_id {
            own.extend([("transactional.id", &**id), ("transaction.timeout.ms", &*timeout)]);
        }
        // librdkafka does not part a batch that was refused for its size.
        let batch = options.max_batch.map(|most| most.clamp(1, i32::MAX as usize));
        let bound = batch
            .filter(|most| self.batch_size() > *most)
            .map(|most| most.to_string());
        if let Some(bound) = &bound {
            own.push(("batch.size", bound));
        }
        let limits = limits::buffer(options.buffer.unwrap_or(limits::BUFFER));
        self.build(PRODUCER, &limits, &own)
    }

    /// Administration. It joins no group, but librdkafka (2.12) dies of a coordinator's refusal to list offsets
    /// in a client that has none.
    pub(super) fn admin(&self) -> Built {
        self.build(
            &[],
            &Limits::new(),
            &[("group.id", "kproc-admin"), ("enable.auto.commit", "false")],
        )
    }
}

/// An open transaction of a dead producer holds back all readers for so long, at most.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(30);

fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}

fn isolation_level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "read_committed",
        Isolation::ReadUncommitted => "read_uncommitted",
    }
}

/// All that is wrong with the options, given what librdkafka was built with.
fn faults(options: &KafkaOptions, features: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    if options.brokers.is_empty() {
        faults.push("there are no brokers: give at least one, as `host:port`".to_owned());
    }
    for (name, value) in options.properties.iter() {
        if let Some((_, why)) = OWNED.iter().find(|(owned, _)| *owned == name) {
            faults.push(format!("property `{name}` cannot be set: {why}"));
        }
        if let Some((feature, switch)) = needed_feature(name, value)
            && !features.iter().any(|it| it == feature)
        {
            faults.push(format!(
                "`{name} = {value}` needs what this program was built without: build it with kproc's cargo feature \
                 `{switch}`"
            ));
        }
        faults.extend(file_fault(name, value));
    }
    faults
}

/// What a value needs of librdkafka's build: its name there, and kproc's cargo feature.
fn needed_feature(name: &str, value: &str) -> Option<(&'static str, &'static str)> {
    match (name, &*value.to_ascii_lowercase()) {
        ("security.protocol", "ssl" | "sasl_ssl") => Some(("ssl", "kafka-tls")),
        ("sasl.mechanism" | "sasl.mechanisms", "gssapi") => Some(("sasl_gssapi", "kafka-gssapi")),
        ("sasl.mechanism" | "sasl.mechanisms", "scram-sha-256" | "scram-sha-512") => {
            Some(("sasl_scram", "kafka-tls"))
        }
        ("sasl.mechanism" | "sasl.mechanisms", "oauthbearer") => Some(("sasl_oauthbearer", "kafka-tls")),
        ("compression.codec" | "compression.type", "zstd") => Some(("zstd", "kafka-zstd")),
        _ => None,
    }
}

/// What is wrong with a file that a property names.
fn file_fault(name: &str, value: &str) -> Option<String> {
    let is_pem = match name {
        // `probe` looks for the system's own; a directory holds many.
        "ssl.ca.location" if value != "probe" && !Path::new(value).is_dir() => true,
        "ssl.certificate.location" | "ssl.key.location" => true,
        "ssl.keystore.location" | "ssl.crl.location" | "sasl.kerberos.keytab" => false,
        _ => return None,
    };
    match fs::read(value) {
        Err(error) => Some(format!("`{name} = {value}` cannot be read: {error}")),
        Ok(content) if content.is_empty() => Some(format!("`{name} = {value}` is an empty file")),
        Ok(content) if is_pem && !content.windows(11).any(|window| window == b"-----BEGIN ") => {
            Some(format!(
                "`{name} = {value}` is not in PEM form (text that begins with `-----BEGIN`); openssl can convert it"
            ))
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    fn options(properties: &[(&str, &str)]) -> KafkaOptions {
        let mut options = KafkaOptions::new(vec!["localhost:9092".into()], Arc::new(SystemClock::new()));
        for (name, value) in properties {
            options.properties.set(*name, *value);
        }
        options
    }

    fn plain() -> Vec<String> {
        ["gzip", "snappy", "sasl", "lz4", "sasl_plain"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn c15_what_is_kprocs_is_refused_with_the_reason() {
        let options = options(&[
            ("partition.assignment.strategy", "cooperative-sticky"),
            ("group.id", "x"),
        ]);
        let faults = faults(&options, &plain());
        assert_eq!(faults.len(), 2, "all at once: {faults:?}");
        assert!(faults.iter().any(|fault| fault.contains("range")), "{faults:?}");
    }

    #[test]
    fn h02_the_missing_feature_is_named() {
        for (name, value, switch) in [
            ("security.protocol", "SASL_SSL", "kafka-tls"),
            ("sasl.mechanism", "GSSAPI", "kafka-gssapi"),
            ("sasl.mechanisms", "SCRAM-SHA-512", "kafka-tls"),
            ("sasl.mechanism", "OAUTHBEARER", "kafka-tls"),
            ("compression.codec", "zstd", "kafka-zstd"),
        ] {
            let faults = faults(&options(&[(name, value)]), &plain());
            assert!(faults.len() == 1 && faults[0].contains(switch), "{faults:?}");
        }
        assert_eq!(
            faults(&options(&[("security.protocol", "plaintext")]), &plain()),
            [""; 0]
        );
    }

    #[test]
    fn h03_secrets_are_in_no_text() {
        let options = options(&[
            ("sasl.password", "hunter2"),
            ("ssl.key.password", "hunter2"),
            ("sasl.oauthbearer.client.secret", "hunter2\0"),
            ("group.id", "x"),
        ]);
        let error = Config::new(options.clone()).err().unwrap();
        let shown = format!("{options:?} {options:#?} {error} {error:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn h03_refused_values_of_secrets_are_not_quoted() {
        for (name, value) in [("ssl.key.pem", "hunter2\0"), ("ssl.key.pem", "hunter2")] {
            let config = Config::new(options(&[(name, value)])).unwrap();
            let built = config.reader(Isolation::ReadCommitted);
            let properties = built.iter().map(|(name, value)| (&**name, &**value));
            if let Err(error) = native::Client::new(native::Kind::Other, properties, config.log.of_client()) {
                assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
            }
        }
    }

    #[test]
    fn h14_files_are_looked_at_first() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = directory.path().join(name);
            fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (empty, der) = (file("empty", b""), file("der", b"\x30\x82\x01\x0a"));
        let pem = file("pem", b"-----BEGIN CERTIFICATE-----\n");
        let missing = directory.path().join("none").to_str().unwrap().to_owned();
        for (path, reason) in [(&empty, "empty"), (&der, "PEM"), (&missing, "cannot be read")] {
            let faults = faults(&options(&[("ssl.ca.location", path)]), &plain());
            assert!(faults.len() == 1 && faults[0].contains(reason), "{faults:?}");
            assert!(faults[0].contains(&**path), "{faults:?}");
        }
        assert_eq!(faults(&options(&[("ssl.ca.location", &pem)]), &plain()), [""; 0]);
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
}
