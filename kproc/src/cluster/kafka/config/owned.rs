//! Properties that are kproc's, under all of their names, and why.

/// Why a property cannot be the user's; `None`: it can.
pub(super) fn owner_of(name: &str) -> Option<&'static str> {
    let listed = OWNED.iter().find(|(names, _)| names.contains(&name));
    let callback = name.ends_with("_cb") || matches!(name, "opaque" | "default_topic_conf" | "msg_order_cmp");
    listed
        .map(|(_, why)| *why)
        .or_else(|| callback.then_some("it is a part of librdkafka's interface, no setting"))
}

const OWNED: &[(&[&str], &str)] = &[
    (
        &["bootstrap.servers", "metadata.broker.list"],
        "set `brokers` instead",
    ),
    (
        &["client.id"],
        "it tells the members of the group which program each of them runs",
    ),
    (&["group.id"], "it is the application's id"),
    (
        &["group.protocol", "group.protocol.type"],
        "kproc finds out which protocol the brokers have",
    ),
    (
        &["group.remote.assignor", "partition.assignment.strategy"],
        "inputs that are joined need `range`; others part what belongs together",
    ),
    (
        &["group.instance.id"],
        "kproc leaves its group when it stops, and its state is kept, so that a static member gains nothing; two of one \
         id would throw each other out",
    ),
    (&["session.timeout.ms"], "set `session_timeout` instead"),
    (&["heartbeat.interval.ms"], "set `heartbeat_interval` instead"),
    (
        &["max.poll.interval.ms"],
        "kproc polls at all times, and watches its handlers itself",
    ),
    (
        &[
            "enable.auto.commit",
            "auto.commit.enable",
            "auto.commit.interval.ms",
            "enable.auto.offset.store",
            "offset.store.method",
            "offset.store.path",
            "offset.store.sync.interval.ms",
        ],
        "kproc commits offsets together with state; see `commit_interval`",
    ),
    (
        &["auto.offset.reset"],
        "a position never jumps; where to begin is said by the handler (`start = latest`)",
    ),
    (&["isolation.level"], "kproc chooses it for each use"),
    (
        &["enable.partition.eof"],
        "kproc finds the ends of partitions by it",
    ),
    (
        &["partitioner"],
        "keys must go where Kafka's own clients send them",
    ),
    (
        &["enable.idempotence"],
        "without it a retry can write a record twice, or out of order",
    ),
    (
        &["enable.gapless.guarantee"],
        "a record that was not written makes kproc fall back to the last commit, where this would end the producer",
    ),
    (
        &["queuing.strategy"],
        "records are written in the order in which they were sent",
    ),
    (
        &["acks", "request.required.acks"],
        "what is acknowledged by fewer brokers can be lost",
    ),
    (&["transactional.id"], "each worker has one of its own"),
    (&["transaction.timeout.ms"], "it follows from kproc's settings"),
    (
        &["delivery.report.only.error", "produce.offset.report"],
        "changelog positions come from delivery reports",
    ),
    (
        &[
            "api.version.request",
            "api.version.fallback.ms",
            "broker.version.fallback",
        ],
        "kproc needs brokers that tell which requests they know",
    ),
    (
        &["log.queue", "enabled_events"],
        "kproc takes librdkafka's lines and events itself",
    ),
    (
        &["topic.blacklist"],
        "a topic that cannot be seen looks like one that was deleted",
    ),
    (
        &["sasl.jaas.config"],
        "only Java reads it; set `sasl.mechanism`, `sasl.username` and `sasl.password`",
    ),
    (
        &["builtin.features"],
        "it is what librdkafka was built with; see kproc's cargo features",
    ),
];
