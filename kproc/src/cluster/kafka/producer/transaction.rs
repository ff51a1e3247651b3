//! The steps of transactions. Each blocks, and is made again for as long as that can help.

use std::{
    ffi::c_int,
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use super::{
    super::{
        consumer::{Membership, list_of},
        error::failed_step,
        native::{Client, Code, NativeError, Transaction},
        verdicts::Step,
    },
    deliveries::Deliveries,
};
use crate::{
    clock::Clock,
    cluster::{ClusterError, ClusterErrorKind, OffsetCommit, Result},
};

/// How long one call waits, before it is looked whether it is still wanted.
const CALL: c_int = 1000;

/// How long at least a step is made again and again, however old the transaction is.
const LEAST: Duration = Duration::from_secs(5);

/// How long librdkafka's first connection may take before it is not waited for any more.
const CONNECT: c_int = 5000;

/// librdkafka looks for a coordinator when it has a broker, and else only twice a second: a producer so young
/// would wait for the next look.
const YOUTH: Duration = Duration::from_millis(60);

/// What the steps need.
pub(super) struct Steps {
    pub(super) id: String,
    pub(super) client: Arc<Client>,
    pub(super) deliveries: Arc<Deliveries>,
    pub(super) clock: Arc<dyn Clock>,
    /// When the client was made.
    pub(super) made: Duration,
    /// The brokers abort a transaction that is older than this.
    pub(super) timeout: Duration,
}

/// Until when a step of a transaction is made again: for as long as the brokers keep the transaction, whatever a single
/// request may take. After that it is decided, if not by us.
fn until(begun: Duration, timeout: Duration, now: Duration) -> Duration {
    begun.saturating_add(timeout).max(now.saturating_add(LEAST))
}

impl Steps {
    /// Settles what an earlier producer of the id left open.
    pub(super) fn init(&self) -> Result<()> {
        // Failing is no harm: the step itself connects, too.
        let _ = self.client.connect(CONNECT);
        let age = self.clock.now().saturating_sub(self.made);
        thread::sleep(YOUTH.saturating_sub(age));
        self.repeat(Step::Init, self.clock.now(), |client| {
            client.init_transactions(CALL)
        })
    }

    /// Flushes, adds the offsets, commits a transaction that has begun then.
    pub(super) fn commit(
        &self,
        begun: Duration,
        membership: &Membership,
        offsets: &[OffsetCommit],
    ) -> Result<()> {
        self.deliveries.flush(&self.client)?;
        if let Some(error) = self.deliveries.failure() {
            return Err(self.of_failure(&error));
        }
        if !offsets.is_empty() {
            // The proof is the one of the last rebalance, never a fresh one: brokers would take that for a
            // partition that was lost meanwhile.
            let proof = membership.proof(offsets)?;
            let list = list_of(offsets)?;
            self.repeat(Step::Offsets, begun, |client| {
                client.send_offsets(&list, &proof, CALL)
            })?;
        }
        self.repeat(Step::Commit, begun, |client| client.commit_transaction(CALL))
    }

    /// Aborts a transaction that has begun then.
    pub(super) fn abort(&self, begun: Duration) -> Result<()> {
        self.repeat(Step::Abort, begun, |client| client.abort_transaction(CALL))
    }

    /// Makes a step until it succeeds or fails for good; a call that ran out of time is resumed by the next.
    fn repeat(
        &self,
        step: Step,
        begun: Duration,
        call: impl Fn(&Client) -> std::result::Result<(), NativeError>,
    ) -> Result<()> {
        let deadline = until(begun, self.timeout, self.clock.now());
        loop {
            // A producer that was dropped takes no further step, as one that has crashed does not.
            if self.deliveries.gone.load(Ordering::SeqCst) {
                let over = NativeError::of(Code::RD_KAFKA_RESP_ERR__DESTROY);
                return Err(failed_step(&self.id, step, &over));
            }
            let Err(error) = self.client.in_call(&call) else {
                return Ok(());
            };
            let again = error.retriable && !error.abortable && !error.fatal;
            if !again || self.clock.now() >= deadline {
                return Err(failed_step(&self.id, step, &error));
            }
        }
    }

    /// A record that was not written is why the transaction fails, unless the producer was fenced.
    pub(super) fn of_failure(&self, failure: &ClusterError) -> ClusterError {
        match self.client.fatal_error() {
            Some(error) => failed_step(&self.id, Step::Record, &error),
            None => failure.clone(),
        }
    }

    /// What a commit of a transaction that has failed already fails with.
    #[cold]
    pub(super) fn poisoned(&self) -> ClusterError {
        let message = format_args!(
            "the transaction of `{}` cannot be committed: a record of it was not written, or its offsets were refused",
            self.id
        );
        ClusterError::new(ClusterErrorKind::AbortTransaction, message)
    }
}

#[cold]
pub(super) fn no_transactions() -> ClusterError {
    ClusterError::new(
        ClusterErrorKind::Unsupported,
        "this producer was made without a transactional id, and has no transactions",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e10_a_step_has_as_long_as_its_transaction_lives() {
        let seconds = Duration::from_secs;
        assert_eq!(until(seconds(100), seconds(120), seconds(170)), seconds(220));
        // One that is too old is asked for a little, so that what became of it is heard.
        assert_eq!(until(seconds(100), seconds(30), seconds(170)), seconds(175));
        assert_eq!(until(seconds(100), Duration::MAX, seconds(170)), Duration::MAX);
    }
}
