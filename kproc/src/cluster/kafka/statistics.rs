//! librdkafka's statistics as events of `tracing`: a line for each client at level debug, and one for each broker and
//! partition at level trace. Clients make none if nobody listens when they are made.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The target of the events.
const TARGET: &str = "kproc::kafka::statistics";

/// How often clients make them, in milliseconds, unless the user says otherwise.
pub(super) const INTERVAL: &str = "10000";

/// Whether anybody wants them.
pub(super) fn wanted() -> bool {
    tracing::enabled!(target: TARGET, tracing::Level::DEBUG)
}

/// What is used of them. Whatever is missing is zero: the format grows with librdkafka's versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Statistics {
    name: String,
    replyq: u64,
    msg_cnt: u64,
    msg_size: u64,
    txmsgs: u64,
    txmsg_bytes: u64,
    rxmsgs: u64,
    rxmsg_bytes: u64,
    brokers: BTreeMap<String, Broker>,
    topics: BTreeMap<String, Topic>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Broker {
    state: String,
    outbuf_cnt: i64,
    waitresp_cnt: i64,
    connects: i64,
    req_timeouts: u64,
    /// In microseconds.
    rtt: Window,
    /// In milliseconds.
    throttle: Window,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Window {
    max: i64,
    avg: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Topic {
    partitions: BTreeMap<String, Partition>,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
struct Partition {
    fetchq_cnt: u64,
    fetchq_size: u64,
    msgq_cnt: u64,
    /// -1: not known.
    consumer_lag: i64,
}

impl Default for Partition {
    fn default() -> Self {
        Self {
            fetchq_cnt: 0,
            fetchq_size: 0,
            msgq_cnt: 0,
            consumer_lag: -1,
        }
    }
}

/// Tells one set of them.
pub(super) fn tell(json: &str) {
    if !wanted() {
        return;
    }
    let statistics: Statistics = match serde_json::from_str(json) {
        Ok(statistics) => statistics,
        Err(error) => {
            tracing::debug!(target: TARGET, %error, "librdkafka's statistics cannot be read");
            return;
        }
    };
    let client = &statistics.name;
    let partitions = || {
        let topics = statistics.topics.iter();
        // Partition -1 is the one of records that have none yet.
        topics.flat_map(|(name, topic)| {
            topic
                .partitions
                .iter()
                .map(move |(number, it)| (name, number, it))
        })
    };
    let up = statistics.brokers.values().filter(|broker| broker.state == "UP");
    let (connected, rtt, throttle) = up.fold((0, 0, 0), |(count, rtt, throttle), broker| {
        (
            count + 1,
            rtt.max(broker.rtt.max),
            throttle.max(broker.throttle.max),
        )
    });
    tracing::debug!(
        target: TARGET,
        client,
        connected,
        rtt_max_us = rtt,
        throttle_max_ms = throttle,
        sent = statistics.txmsgs,
        sent_bytes = statistics.txmsg_bytes,
        received = statistics.rxmsgs,
        received_bytes = statistics.rxmsg_bytes,
        to_send = statistics.msg_cnt,
        to_send_bytes = statistics.msg_size,
        to_serve = statistics.replyq,
        fetched = partitions().map(|(.., it)| it.fetchq_cnt).sum::<u64>(),
        fetched_bytes = partitions().map(|(.., it)| it.fetchq_size).sum::<u64>(),
        lag = partitions().map(|(.., it)| it.consumer_lag.max(0)).sum::<i64>(),
        "statistics"
    );
    if !tracing::enabled!(target: TARGET, tracing::Level::TRACE) {
        return;
    }
    for (broker, it) in &statistics.brokers {
        tracing::trace!(
            target: TARGET,
            client,
            broker,
            state = it.state,
            rtt_avg_us = it.rtt.avg,
            rtt_max_us = it.rtt.max,
            throttle_avg_ms = it.throttle.avg,
            throttle_max_ms = it.throttle.max,
            requests_to_send = it.outbuf_cnt,
            requests_in_flight = it.waitresp_cnt,
            timeouts = it.req_timeouts,
            connects = it.connects,
            "broker"
        );
    }
    for (topic, partition, it) in partitions() {
        tracing::trace!(
            target: TARGET,
            client,
            topic,
            partition,
            fetched = it.fetchq_cnt,
            fetched_bytes = it.fetchq_size,
            to_send = it.msgq_cnt,
            lag = it.consumer_lag,
            "partition"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::kafka::log::tests::capture;

    const JSON: &str = r#"{"name":"c-1","type":"consumer","replyq":3,"rxmsgs":7,"msg_cnt":1,
        "brokers":{"b/1":{"state":"UP","rtt":{"max":900,"avg":300},"throttle":{"max":12},"new_field":[]},
                   "b/2":{"state":"DOWN","rtt":{"max":9000}}},
        "topics":{"t":{"partitions":{"0":{"consumer_lag":5,"fetchq_cnt":2},"-1":{"consumer_lag":-1}}}}}"#;

    #[test]
    fn a_line_for_each_client_and_more_for_who_wants_it() {
        let text = capture(tracing::Level::DEBUG, || tell(JSON));
        assert_eq!(text.lines().count(), 1, "{text}");
        for wanted in [
            "connected=1",
            "rtt_max_us=900",
            "throttle_max_ms=12",
            "received=7",
            "fetched=2",
            "lag=5",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        let text = capture(tracing::Level::TRACE, || tell(JSON));
        assert_eq!(text.lines().count(), 5, "{text}");
        assert_eq!(capture(tracing::Level::INFO, || tell(JSON)), "");
        let text = capture(tracing::Level::DEBUG, || tell("{"));
        assert!(text.contains("cannot be read"), "{text}");
    }
}
