//! What librdkafka's errors mean for the runtime: one table, each row with its reason.

use super::native::{Code, NativeError};
use crate::cluster::{ClusterError, ClusterErrorKind, Operation, Resource};

/// What an error means outside transactions.
pub(super) fn kind_of(code: Code) -> ClusterErrorKind {
    use ClusterErrorKind as Kind;
    match code {
        // The network, or a broker that is busy with itself; the same request can succeed a moment later.
        Code::RD_KAFKA_RESP_ERR__TIMED_OUT
        | Code::RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE
        | Code::RD_KAFKA_RESP_ERR__TRANSPORT
        | Code::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN
        // Brokers were away for so long that librdkafka has begun anew with the addresses that it was given.
        | Code::RD_KAFKA_RESP_ERR__DESTROY_BROKER
        | Code::RD_KAFKA_RESP_ERR__RESOLVE
        | Code::RD_KAFKA_RESP_ERR__WAIT_COORD
        | Code::RD_KAFKA_RESP_ERR__RETRY
        | Code::RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS
        | Code::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT
        | Code::RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION
        | Code::RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE
        | Code::RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE
        | Code::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION
        | Code::RD_KAFKA_RESP_ERR_NOT_CONTROLLER
        // A leader has changed, or has come back, and one side has not heard of it (KIP-320; seen after a crash).
        | Code::RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH
        | Code::RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH
        | Code::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS
        // "No leaders found", of requests to leaders.
        | Code::RD_KAFKA_RESP_ERR__NOENT
        | Code::RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE
        // The coordinator is elsewhere, or still reads its log.
        | Code::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS
        | Code::RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE
        | Code::RD_KAFKA_RESP_ERR_NOT_COORDINATOR
        // The last transaction's markers are not written yet (KIP-98).
        | Code::RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS
        // A transaction holds the offsets that were asked for (KIP-447).
        | Code::RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT
        // The member is between two epochs or generations: its next heartbeat settles that (KIP-848).
        | Code::RD_KAFKA_RESP_ERR_STALE_MEMBER_EPOCH
        | Code::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS => Kind::Retriable,
        // The group has gone on without this member, or without this partition of it (seen after a freeze).
        Code::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION
        | Code::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID
        | Code::RD_KAFKA_RESP_ERR_FENCED_MEMBER_EPOCH
        | Code::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID => Kind::OwnershipLost,
        // Another producer has the id, or the broker has timed this one's transaction out: the same code for both.
        Code::RD_KAFKA_RESP_ERR__FENCED
        | Code::RD_KAFKA_RESP_ERR_PRODUCER_FENCED
        | Code::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH
        | Code::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING
        | Code::RD_KAFKA_RESP_ERR_INVALID_TXN_STATE => Kind::Fenced,
        // `auto.offset.reset=error`: the position does not jump.
        Code::RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET | Code::RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE => {
            Kind::OffsetOutOfRange
        }
        Code::RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC
        | Code::RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
        | Code::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
        | Code::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_ID => Kind::UnknownTopic,
        Code::RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS => Kind::TopicExists,
        Code::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE | Code::RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE => {
            Kind::RecordTooLarge
        }
        Code::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
        | Code::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED
        | Code::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED
        | Code::RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        | Code::RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED
        | Code::RD_KAFKA_RESP_ERR__AUTHENTICATION => Kind::Unauthorized,
        Code::RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION
        | Code::RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE
        | Code::RD_KAFKA_RESP_ERR_UNSUPPORTED_ASSIGNOR => Kind::Unsupported,
        // It was on its way when its time was over.
        Code::RD_KAFKA_RESP_ERR__MSG_TIMED_OUT => Kind::Unknown,
        _ => Kind::Fatal,
    }
}

/// An error of a verb, with what it was about.
#[cold]
pub(super) fn failed(what: impl std::fmt::Display, error: &NativeError) -> ClusterError {
    let kind = kind_of(error.code);
    ClusterError::new(kind, format_args!("{what}: {error}{}", advice(kind)))
}

/// An error of a verb that is allowed or not: it says how to allow it.
#[cold]
pub(super) fn forbidden(
    what: impl std::fmt::Display,
    error: &NativeError,
    principal: Option<&str>,
    resource: &Resource,
    operation: Operation,
) -> ClusterError {
    match (error.code, resource) {
        (Code::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Resource::Topic(_))
        | (Code::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, Resource::Group(_)) => {
            let grant = resource.grant(principal, &[operation]);
            let message =
                format_args!("{what}: {error}. Allow it with `kafka-acls.sh {grant}`, and start again");
            ClusterError::new(ClusterErrorKind::Unauthorized, message)
        }
        // Not of what was asked for, but of being able to ask for anything.
        (Code::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, _) => {
            let write = Resource::Cluster.grant(principal, &[Operation::IdempotentWrite]);
            let message = format_args!(
                "{what}: {error}. A producer that writes nothing twice needs the permission to write to any topic, or                  `kafka-acls.sh {write}`"
            );
            ClusterError::new(ClusterErrorKind::Unauthorized, message)
        }
        _ => failed(what, error),
    }
}

/// What a person can do about it, where that can be said in general.
fn advice(kind: ClusterErrorKind) -> &'static str {
    match kind {
        ClusterErrorKind::Unauthorized => {
            ". Grant the permission, or correct the credentials, and start again"
        }
        _ => "",
    }
}

/// What an error of a transaction's step means: librdkafka says what can be done.
#[cold]
pub(super) fn failed_step(id: &str, step: &str, error: &NativeError) -> ClusterError {
    use ClusterErrorKind as Kind;
    let kind = match kind_of(error.code) {
        kind @ Kind::Unauthorized => kind,
        // Whatever the reason: this producer can do nothing more, and a new one of the same id can.
        _ if error.fatal => Kind::Fenced,
        kind @ (Kind::OwnershipLost | Kind::Fenced) => kind,
        _ if error.abortable => Kind::AbortTransaction,
        Kind::Retriable => Kind::Retriable,
        _ => Kind::AbortTransaction,
    };
    let message = format_args!("{step} of transactional id `{id}`: {error}{}", advice(kind));
    ClusterError::new(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: Code, fatal: bool, abortable: bool) -> NativeError {
        NativeError {
            fatal,
            abortable,
            ..NativeError::of(code)
        }
    }

    #[test]
    fn steps_of_transactions() {
        let kind = |code, fatal, abortable| failed_step("id", "commit", &error(code, fatal, abortable)).kind;
        assert_eq!(
            kind(Code::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, false, true),
            ClusterErrorKind::OwnershipLost
        );
        assert_eq!(
            kind(Code::RD_KAFKA_RESP_ERR__TIMED_OUT, false, true),
            ClusterErrorKind::AbortTransaction
        );
        assert_eq!(
            kind(Code::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, true, false),
            ClusterErrorKind::Fenced
        );
        assert_eq!(
            kind(
                Code::RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                true,
                false
            ),
            ClusterErrorKind::Unauthorized
        );
    }

    #[test]
    fn messages_name_the_code() {
        let error = failed(
            "cannot read t[0]",
            &NativeError::of(Code::RD_KAFKA_RESP_ERR__TRANSPORT),
        );
        assert_eq!(error.kind, ClusterErrorKind::Retriable);
        assert!(error.message.contains("cannot read t[0]") && error.message.contains("_TRANSPORT"));
    }
}
