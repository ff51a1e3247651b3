//! Errors of librdkafka as the runtime gets them: what they mean (by the table of [`verdicts`](super::verdicts)), and in
//! words what happened and what to do.

use super::{
    native::{Code, NativeError},
    verdicts::{Step, by_code, verdict},
};
use crate::cluster::{ClusterError, ClusterErrorKind, Operation, Resource};

/// What an error means outside transactions.
pub(super) fn kind_of(code: Code) -> ClusterErrorKind {
    by_code(code, Step::Other)
}

/// An error of a verb, with what it was about.
#[cold]
pub(super) fn failed(what: impl std::fmt::Display, error: &NativeError) -> ClusterError {
    failed_in(Step::Other, what, error)
}

/// An error of a step, with what it was about.
#[cold]
fn failed_in(step: Step, what: impl std::fmt::Display, error: &NativeError) -> ClusterError {
    let kind = verdict(error, step);
    ClusterError::new(kind, format_args!("{what}: {error}{}", advice(error.code, kind)))
}

/// An error of a verb that is allowed or not: it says how to allow it.
#[cold]
pub(super) fn forbidden(
    step: Step,
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
        _ => failed_in(step, what, error),
    }
}

/// What a person can do about it, where that can be said in general.
fn advice(code: Code, kind: ClusterErrorKind) -> &'static str {
    match (code, kind) {
        (_, ClusterErrorKind::Unauthorized) => {
            ". Grant the permission, or correct the credentials, and start again"
        }
        (Code::RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, _) => {
            ". The brokers' `transaction.max.timeout.ms` (15 minutes, unless it was set) is less than the setting \
             `transaction_timeout`: set that to less, and start again"
        }
        _ => "",
    }
}

/// An error of a transaction's step.
#[cold]
pub(super) fn failed_step(id: &str, step: Step, error: &NativeError) -> ClusterError {
    failed_in(
        step,
        format_args!("{} of transactional id `{id}`", step.name()),
        error,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
