//! What an error means: one table, by the error and the step in which it came.
//!
//! What may be here: the table, how it is read, and nothing that acts on it. `docs/errors.md` shows it with every code
//! spelled out; a test keeps the two equal.
//!
//! A step that librdkafka says may be made again ("retriable") is made again for as long as there is time, before
//! anybody asks here. What is in the table is for then.

use super::native::{Code, NativeError};
use crate::cluster::ClusterErrorKind as Kind;

/// What was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Anything outside transactions that is not below: reading, asking, administration.
    Other,
    /// A transactional producer settles what its id has left open (`InitProducerId`).
    Init,
    /// A transaction begins (no request; librdkafka looks at its own state).
    Begin,
    /// A record of a transaction is handed over or written (`AddPartitionsToTxn`, `Produce`).
    Record,
    /// Offsets are added to a transaction (`AddOffsetsToTxn`, `TxnOffsetCommit`).
    Offsets,
    /// A transaction is committed (`EndTxn`).
    Commit,
    /// A transaction is aborted (`EndTxn`).
    Abort,
    /// At least once: a record is handed over or written (`Produce`).
    Delivery,
    /// At least once: offsets are committed (`OffsetCommit`).
    OffsetCommit,
}

impl Step {
    /// Whether it is a step of a transaction.
    const fn is_transactional(self) -> bool {
        !matches!(self, Self::Other | Self::Delivery | Self::OffsetCommit)
    }

    /// In words, for a message.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Other => "a request",
            Self::Init => "init",
            Self::Begin => "the beginning of a transaction",
            Self::Record | Self::Delivery => "a record",
            Self::Offsets | Self::OffsetCommit => "the offsets",
            Self::Commit => "the commit",
            Self::Abort => "the abort",
        }
    }
}

/// Some errors, and what they mean in each step.
pub(super) struct Row {
    pub(super) codes: &'static [Code],
    /// Why, and where that is said.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for people, and for the page that shows the table")
    )]
    pub(super) why: &'static str,
    other: Kind,
    init: Kind,
    /// Begin, too.
    record: Kind,
    offsets: Kind,
    commit: Kind,
    abort: Kind,
    delivery: Kind,
    offset_commit: Kind,
}

impl Row {
    pub(super) const fn at(&self, step: Step) -> Kind {
        match step {
            Step::Other => self.other,
            Step::Init => self.init,
            Step::Begin | Step::Record => self.record,
            Step::Offsets => self.offsets,
            Step::Commit => self.commit,
            Step::Abort => self.abort,
            Step::Delivery => self.delivery,
            Step::OffsetCommit => self.offset_commit,
        }
    }
}

/// Later: the same may succeed then.
const RETRY: Kind = Kind::Retriable;
/// Abort the transaction, go back to the last commit; the producer lives on.
const ABORT: Kind = Kind::AbortTransaction;
/// Make a new producer of the same id, which settles the transaction; go back to the last commit.
const REBUILD: Kind = Kind::ProducerFailed;
/// As `REBUILD`, and look whether another producer has the id.
const FENCED: Kind = Kind::Fenced;
/// Nobody knows what became of it. In a transaction: as `REBUILD`, and then hear what was committed.
const UNKNOWN: Kind = Kind::Unknown;
/// The partition is not ours. In a transaction: abort.
const LOST: Kind = Kind::OwnershipLost;
/// The instance ends.
const STOP: Kind = Kind::Fatal;

/// A row with the same meaning in all steps.
const fn always(codes: &'static [Code], kind: Kind, why: &'static str) -> Row {
    row(codes, [kind; 8], why)
}

const fn row(codes: &'static [Code], cells: [Kind; 8], why: &'static str) -> Row {
    let [
        other,
        init,
        record,
        offsets,
        commit,
        abort,
        delivery,
        offset_commit,
    ] = cells;
    Row {
        codes,
        why,
        other,
        init,
        record,
        offsets,
        commit,
        abort,
        delivery,
        offset_commit,
    }
}

/// The table. A code that is in no row has the last one.
#[rustfmt::skip]
#[allow(clippy::enum_glob_use, reason = "the names are long enough")]
pub(super) const TABLE: &[Row] = {
    use Code::*;
    &[
    //                           else   init   record   offsets  commit   abort    deliv.   offset commit
    row(&[RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, RD_KAFKA_RESP_ERR__TRANSPORT,
          RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__DESTROY_BROKER, RD_KAFKA_RESP_ERR__RESOLVE,
          RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR__WAIT_CACHE, RD_KAFKA_RESP_ERR__RETRY,
          RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS, RD_KAFKA_RESP_ERR__IN_PROGRESS, RD_KAFKA_RESP_ERR__INTR,
          RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
          RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE],
                                [RETRY, RETRY, ABORT,   ABORT,   UNKNOWN, REBUILD, RETRY,   RETRY],
        "No answer: the network, or a broker that is down or busy. Kafka and librdkafka: retriable. The answer to a \
         commit may be what was lost (KIP-98)."),
    row(&[RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
          RD_KAFKA_RESP_ERR_NOT_COORDINATOR],
                                [RETRY, RETRY, ABORT,   ABORT,   UNKNOWN, REBUILD, RETRY,   RETRY],
        "The coordinator is elsewhere, or still reads its log. Kafka: retriable. A commit that was asked for twice may \
         have been done the first time."),
    row(&[RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS],
                                [RETRY, RETRY, ABORT,   ABORT,   UNKNOWN, REBUILD, RETRY,   RETRY],
        "The last transaction's markers are not written yet. Kafka: retriable (KIP-98)."),
    row(&[RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
          RD_KAFKA_RESP_ERR_NOT_CONTROLLER, RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
          RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
          RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
          RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE,
          RD_KAFKA_RESP_ERR_ELECTION_NOT_NEEDED, RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
          RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR_LISTENER_NOT_FOUND,
          RD_KAFKA_RESP_ERR_FETCH_SESSION_ID_NOT_FOUND, RD_KAFKA_RESP_ERR_INVALID_FETCH_SESSION_EPOCH,
          RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED,
          RD_KAFKA_RESP_ERR__ISR_INSUFF, RD_KAFKA_RESP_ERR__NOENT],
                                [RETRY, RETRY, ABORT,   ABORT,   UNKNOWN, REBUILD, RETRY,   RETRY],
        "A leader has changed, or its replicas are behind (KIP-320). Kafka: retriable. `_NOENT` is librdkafka's \"no leaders found\"."),
    row(&[RD_KAFKA_RESP_ERR_INVALID_MSG],
                                [STOP,  RETRY, ABORT,   ABORT,   UNKNOWN, REBUILD, RETRY,   RETRY],
        "Bytes were damaged on the way. Kafka: retriable. Of a topic that is read, they may be damaged for good."),
    row(&[RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT],
                                [RETRY, RETRY, ABORT,   ABORT,   UNKNOWN, REBUILD, RETRY,   RETRY],
        "A transaction holds the offsets that were asked for. Kafka: retriable (KIP-447)."),
    row(&[RD_KAFKA_RESP_ERR_STALE_MEMBER_EPOCH, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS],
                                [RETRY, RETRY, ABORT,   ABORT,   UNKNOWN, REBUILD, RETRY,   RETRY],
        "The member is between two epochs or generations: its next heartbeat settles that (KIP-848)."),
    row(&[RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
          RD_KAFKA_RESP_ERR_FENCED_MEMBER_EPOCH, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
          RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST],
                                [LOST,  LOST,  LOST,    LOST,    LOST,    REBUILD, LOST,    LOST],
        "The group has gone on without this member, or without this partition of it. librdkafka: abortable (KIP-447)."),
    row(&[RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
          RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH],
                                [FENCED; 8],
        "Another producer has the id, or the brokers have timed this one's transaction out: the same code for both \
         (KIP-588; librdkafka makes `_FENCED` of all three, fatal). How long the transaction was open tells them apart."),
    row(&[RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE,
          RD_KAFKA_RESP_ERR__STATE, RD_KAFKA_RESP_ERR__FATAL],
                                [STOP,  REBUILD, REBUILD, REBUILD, REBUILD, REBUILD, UNKNOWN, STOP],
        "The coordinator, or librdkafka, has another idea of where the transaction is: the id has expired, or an abort \
         came after a time-out (librdkafka#4849). Kafka: restart the producer (KIP-1050)."),
    row(&[RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
          RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE],
                                [STOP,  REBUILD, ABORT,   ABORT,   ABORT,   REBUILD, UNKNOWN, STOP],
        "The broker does not remember what this producer has written. In a transaction: abort, and librdkafka takes a \
         new epoch (KIP-360). Else: a new producer."),
    row(&[RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
          RD_KAFKA_RESP_ERR__INCONSISTENT, RD_KAFKA_RESP_ERR_OPERATION_NOT_ATTEMPTED],
                                [UNKNOWN, REBUILD, ABORT, ABORT, ABORT,   REBUILD, UNKNOWN, UNKNOWN],
        "A record was on its way when its time was over, or another one was not written. librdkafka: abortable."),
    row(&[RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT],
                                [STOP; 8],
        "`transaction_timeout` is longer than the brokers' `transaction.max.timeout.ms`. Kafka: invalid configuration."),
    always(&[RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE], Kind::OffsetOutOfRange,
        "The log does not have the offset. The position does not jump (`auto.offset.reset=error`)."),
    always(&[RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
             RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_ID], Kind::UnknownTopic,
        "There is no such topic or partition. Kafka: retriable, for it may be about to be made; here topics were there at \
         the start, so it is asked what has become of them."),
    always(&[RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS], Kind::TopicExists, "Somebody else has made it."),
    always(&[RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE], Kind::RecordTooLarge,
        "The topic's `max.message.bytes`: the task goes back, and the handler that sends it fails (KIP-1050: refused)."),
    row(&[RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
          RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE,
          RD_KAFKA_RESP_ERR_POLICY_VIOLATION, RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE,
          RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE],
                                [STOP,  REBUILD, STOP,  STOP,    STOP,    REBUILD, STOP,    STOP],
        "Refused for what it is: the same will be refused again."),
    always(&[RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
             RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
             RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
             RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, RD_KAFKA_RESP_ERR__AUTHENTICATION], Kind::Unauthorized,
        "Not allowed. A person must allow it (KIP-1050: invalid configuration, though librdkafka says abortable of topics \
         and groups)."),
    always(&[RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE,
             RD_KAFKA_RESP_ERR_UNSUPPORTED_ASSIGNOR, RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT],
        Kind::Unsupported, "The brokers are too old for it."),
    UNKNOWN_CODE,
    ]
};

/// Of all codes that are in no other row.
const UNKNOWN_CODE: Row = row(
    &[],
    [STOP, REBUILD, ABORT, ABORT, ABORT, REBUILD, STOP, STOP],
    "Not foreseen. A transaction is aborted, for that harms nobody; it is counted, and a task that goes back ten times in a \
     row ends the instance.",
);

/// What an error of this code means in a step, if nothing more is known of it.
pub(super) fn by_code(code: Code, step: Step) -> Kind {
    let row = TABLE.iter().find(|row| row.codes.contains(&code));
    row.unwrap_or(&UNKNOWN_CODE).at(step)
}

/// What an error means in a step. Of librdkafka's flags one adds to what the code says: a producer that has met a fatal
/// error can do nothing more. (It has no say in what a person must mend, nor in what is not ours.)
pub(super) fn verdict(error: &NativeError, step: Step) -> Kind {
    match by_code(error.code, step) {
        kind @ (Kind::Unauthorized | Kind::Unsupported | STOP | LOST | FENCED) => kind,
        _ if error.fatal && step.is_transactional() => REBUILD,
        kind => kind,
    }
}

/// All that an error can mean in a step.
#[cfg(test)]
pub(crate) fn kinds(step: Step) -> impl Iterator<Item = Kind> {
    TABLE.iter().chain([&UNKNOWN_CODE]).map(move |row| row.at(step))
}

#[cfg(test)]
mod tests;
