//! What clients are made of: kproc's settings for librdkafka, and the user's.
//!
//! `owned` has the properties that the user cannot have, `check` finds what is wrong with the others, and `files` and
//! `certificate` with the files that they name.

mod certificate;
mod check;
mod files;
mod owned;

use std::{fmt, path::Path, sync::Arc, time::Duration};

use super::{
    limits::{self, Limits},
    log::Log,
    native, statistics,
    token::TokenProvider,
};
use crate::{
    clock::Clock,
    cluster::{ClusterError, ClusterErrorKind, Isolation, JoinRequest, ProducerOptions, Result},
    config::{Properties, WithoutCredentials},
};

/// How to reach a cluster.
#[derive(Clone)]
#[non_exhaustive]
pub struct KafkaOptions {
    /// Addresses of brokers, `host:port`; one that answers is enough.
    pub brokers: Vec<String>,
    /// Properties by librdkafka's names. They win over kproc's defaults; those that kproc must own are refused.
    pub properties: Properties,
    /// Where tokens come from, for `sasl.mechanism = OAUTHBEARER`.
    pub tokens: Option<TokenProvider>,
    /// Time, which must be the system's: librdkafka's is.
    pub clock: Arc<dyn Clock>,
}

impl KafkaOptions {
    /// Options without properties.
    pub fn new(brokers: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            brokers,
            properties: Properties::default(),
            tokens: None,
            clock,
        }
    }
}

/// Shows no secrets.
impl fmt::Debug for KafkaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaOptions")
            .field("brokers", &WithoutCredentials(&self.brokers))
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}

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
    // No limits, for a record that is larger than one could not be written at all: what is handed over is bounded by
    // the producer (`outgoing`).
    ("queue.buffering.max.kbytes", "2147483647"),
    ("queue.buffering.max.messages", "2147483647"),
    // Paid by every transaction that follows another one at once; 100 by default.
    ("retry.backoff.ms", "10"),
];

/// Connections to all brokers, instead of some when they are needed, for clients that make requests of administration.
/// While a broker is away, librdkafka (2.12) would have each of those connect to it anew whenever that has failed, with no
/// pause: an outage would cost a processor core. The connections are few: there is a thread for each of them anyway.
const CONNECTED: (&str, &str) = ("enable.sparse.connections", "false");

/// How long a member's rebalance hook may block before librdkafka gives up on it, beyond the time it is given; a session, if that
/// is longer. The brokers give it as much time to hand partitions back (KIP-848, and `JoinGroup` of the classic protocol), so it is
/// not much longer than that takes: an answer to a heartbeat that comes later than the next one is due is lost to librdkafka
/// (2.12), which does not ask for it again. If it said that partitions are wanted back, others wait for them until the brokers
/// throw the member out, and it joins anew.
const POLL_MARGIN: Duration = Duration::from_secs(30);

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
    /// Addresses, with commas between them.
    pub(super) brokers: String,
    user: Properties,
    /// The system's collection of authorities, if it is needed.
    authorities: Option<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) log: Arc<Log>,
}

impl Config {
    /// Checks the options. All faults are told at once.
    pub(super) fn new(options: KafkaOptions) -> Result<Self> {
        let mut faults = check::faults(&options, &native::features());
        let log = Log::new(options.clock.clone(), &options.properties, options.tokens.clone());
        let config = Self {
            brokers: options.brokers.join(","),
            log,
            clock: options.clock,
            authorities: authorities(&options.properties, &mut faults),
            user: options.properties,
        };
        if faults.is_empty() {
            faults = config.trial();
        }
        if !faults.is_empty() {
            let message = format_args!(
                "cannot connect to Kafka with these settings:\n  {}",
                faults.join("\n  ")
            );
            return Err(ClusterError::new(ClusterErrorKind::Fatal, message));
        }
        for weakness in check::Login::of(&config.user).weaknesses() {
            tracing::warn!("{weakness}");
        }
        Ok(config)
    }

    /// What librdkafka has against properties that are right one by one. It says that only to who makes a client;
    /// these know of no broker, and are gone at once.
    fn trial(&self) -> Vec<String> {
        if check::Login::of(&self.user).acts_at_once() {
            return Vec::new();
        }
        let producer = self.producer(&ProducerOptions::default());
        let reader = self.reader(Isolation::ReadCommitted);
        let mut faults = Vec::new();
        for (kind, built) in [(native::Kind::Producer, producer), (native::Kind::Other, reader)] {
            let properties = built.iter().filter(|(name, _)| name != "bootstrap.servers");
            let properties = properties.map(|(name, value)| (&**name, &**value));
            if let Err(error) = native::Client::new(kind, properties, Arc::new(check::Deaf)) {
                let fault = self.log.without_secrets(&error.message);
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        }
        faults
    }

    /// Who the brokers take the client for, if its name says so: certificates and tickets do not.
    pub(super) fn principal(&self) -> Option<String> {
        let name = self.user.get("sasl.username")?;
        check::Login::of(&self.user).sasl.then(|| format!("User:{name}"))
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
        let mut add = |name: &str, value: String| built.push((name.to_owned(), value));
        if let Some(authorities) = &self.authorities {
            add("ssl.ca.location", authorities.clone());
        }
        if statistics::wanted() && self.user.get("statistics.interval.ms").is_none() {
            add("statistics.interval.ms", statistics::INTERVAL.to_owned());
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
            CONNECTED,
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
        self.build(PRODUCER, &Limits::new(), &own)
    }

    /// Administration. It joins no group, but librdkafka (2.12) dies of a coordinator's refusal to list offsets
    /// in a client that has none.
    pub(super) fn admin(&self) -> Built {
        let own = [
            ("group.id", "kproc-admin"),
            ("enable.auto.commit", "false"),
            CONNECTED,
        ];
        self.build(&[], &Limits::new(), &own)
    }
}

/// Where the certificates of authorities are, if librdkafka must be told.
fn authorities(user: &Properties, faults: &mut Vec<String>) -> Option<String> {
    let given = [
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl_ca",
        "ssl.ca.certificate.stores",
    ];
    let unverified = user.get("enable.ssl.certificate.verification") == Some("false");
    // Elsewhere librdkafka looks into the system's own store.
    let elsewhere = !cfg!(all(unix, not(target_vendor = "apple")));
    if !check::Login::of(user).tls
        || unverified
        || elsewhere
        || given.iter().any(|name| user.get(name).is_some())
    {
        return None;
    }
    let found = files::authorities(|name| std::env::var(name).ok(), |path| Path::new(path).exists());
    if found.is_none() {
        faults.push(
            "this system has no collection of certificate authorities where one is looked for: install one \
             (`ca-certificates`), or set `ssl.ca.location` to the certificate of the authority that has signed the brokers'"
                .into(),
        );
    }
    found
}

/// An open transaction of a dead producer holds back all readers for so long, at most.
pub(super) const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(30);

fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}

fn isolation_level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "read_committed",
        Isolation::ReadUncommitted => "read_uncommitted",
    }
}

#[cfg(test)]
mod tests;
