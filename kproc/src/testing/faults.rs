//! What goes wrong with single requests in a simulation, and how often, against each other.
//!
//! What may be here: the table, and the test that holds it against the one by which errors of a real cluster are judged. That
//! anything goes wrong, and when, is decided elsewhere (`mishaps`).

use crate::cluster::{
    ClusterErrorKind as Kind,
    embedded::{
        Fault::{self, LoseAnswer, LoseRequest, Refuse},
        Verb,
    },
};

/// Some faults, each with how often it is drawn, against the others.
pub(super) type Faults = &'static [(u64, Fault)];

/// What a program has to live with. Losses are found out by time, after half a minute.
const OFTEN: u64 = 24;
/// What ends an instance, as a rule, so that somebody has to start it again: were it drawn often, little else would happen.
const RARE: u64 = 1;

/// These, and what every request can come to.
macro_rules! faults {
    ($($fault:expr),* $(,)?) => {
        &[
            $($fault,)*
            (RARE, Refuse(Kind::Fatal)),
            (RARE, Refuse(Kind::Unauthorized)),
            (RARE, Refuse(Kind::Unsupported)),
        ]
    };
}

/// What can go wrong with a request on a real cluster.
pub(super) fn of(verb: Verb) -> Faults {
    match verb {
        Verb::Leave => LEAVE,
        Verb::Committed => COMMITTED,
        Verb::Commit => COMMIT,
        Verb::Watermarks => WATERMARKS,
        Verb::Read => READ,
        Verb::Fetch => FETCH,
        Verb::Produce => PRODUCE,
        Verb::ProduceInTransaction => PRODUCE_IN_TRANSACTION,
        Verb::InitTransactions => INIT_TRANSACTIONS,
        Verb::SendOffsets => SEND_OFFSETS,
        Verb::EndTransaction => END_TRANSACTION,
        Verb::Admin => ADMIN,
    }
}

/// All of them, as they are told of when they strike.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = String> {
    let of = |verb: Verb| {
        of(verb)
            .iter()
            .map(move |(_, fault)| format!("{verb:?}: {fault:?}"))
    };
    VERBS.into_iter().flat_map(of)
}

#[cfg(test)]
const VERBS: [Verb; 12] = [
    Verb::Leave,
    Verb::Committed,
    Verb::Commit,
    Verb::Watermarks,
    Verb::Read,
    Verb::Fetch,
    Verb::Produce,
    Verb::ProduceInTransaction,
    Verb::InitTransactions,
    Verb::SendOffsets,
    Verb::EndTransaction,
    Verb::Admin,
];

/// As one in how many times more seldom than with others something goes wrong: of records there is one look after another,
/// and nothing can be wrong with them but what ends the instance.
pub(super) fn seldom(verb: Verb) -> u64 {
    if is_no_request(verb) { 200 } else { 1 }
}

/// Whether it is no request of its own.
pub(super) fn is_no_request(verb: Verb) -> bool {
    verb == Verb::Fetch
}

const LEAVE: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (RARE, Refuse(Kind::OwnershipLost)),
];

const COMMITTED: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (RARE, Refuse(Kind::OwnershipLost)),
    (RARE, Refuse(Kind::UnknownTopic)),
];

const COMMIT: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (2 * RARE, Refuse(Kind::OwnershipLost)),
    (RARE, Refuse(Kind::UnknownTopic)),
];

const WATERMARKS: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (RARE, Refuse(Kind::UnknownTopic)),
];

const READ: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (2 * RARE, Refuse(Kind::OffsetOutOfRange)),
    (RARE, Refuse(Kind::UnknownTopic)),
];

/// Clients ask again by themselves, and nobody hears of it.
const FETCH: Faults = faults![
    (2 * RARE, Refuse(Kind::OffsetOutOfRange)),
    (RARE, Refuse(Kind::UnknownTopic)),
];

const PRODUCE: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (RARE, Refuse(Kind::RecordTooLarge)),
    (RARE, Refuse(Kind::UnknownTopic)),
];

const PRODUCE_IN_TRANSACTION: Faults = faults![
    (OFTEN, Refuse(Kind::AbortTransaction)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (4 * RARE, Refuse(Kind::Fenced)),
    (4 * RARE, Refuse(Kind::ProducerFailed)),
    (RARE, Refuse(Kind::RecordTooLarge)),
    (RARE, Refuse(Kind::UnknownTopic)),
];

const INIT_TRANSACTIONS: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, Refuse(Kind::Fenced)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (OFTEN / 2, Refuse(Kind::ProducerFailed)),
];

const SEND_OFFSETS: Faults = faults![
    (OFTEN, Refuse(Kind::AbortTransaction)),
    (OFTEN, Refuse(Kind::Fenced)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (OFTEN / 2, Refuse(Kind::OwnershipLost)),
    (OFTEN / 2, Refuse(Kind::ProducerFailed)),
    (RARE, Refuse(Kind::UnknownTopic)),
];

/// Whether it is committed is what nobody must guess: so that happens more often.
const END_TRANSACTION: Faults = faults![
    (OFTEN, Refuse(Kind::AbortTransaction)),
    (OFTEN, Refuse(Kind::Fenced)),
    (OFTEN, Refuse(Kind::Unknown)),
    (OFTEN, LoseRequest),
    (3 * OFTEN, LoseAnswer),
    (OFTEN / 2, Refuse(Kind::ProducerFailed)),
];

const ADMIN: Faults = faults![
    (OFTEN, Refuse(Kind::Retriable)),
    (OFTEN, LoseRequest),
    (OFTEN, LoseAnswer),
    (RARE, Refuse(Kind::UnknownTopic)),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What is drawn for a verb. Losses are errors, too.
    fn drawn(verb: Verb) -> Vec<Kind> {
        let kinds = of(verb).iter().map(|(_, fault)| match fault {
            Refuse(kind) => *kind,
            LoseRequest | LoseAnswer => Kind::Unknown,
        });
        kinds.collect()
    }

    /// The kinds that the table of verdicts has for any code, although no broker answers this verb with such a code, or the
    /// client keeps it to itself.
    fn never_comes(kind: Kind, verb: Verb) -> bool {
        let reads = matches!(verb, Verb::Read | Verb::Fetch);
        let produces = matches!(verb, Verb::Produce | Verb::ProduceInTransaction);
        let is_of_a_group = matches!(
            verb,
            Verb::Leave | Verb::Committed | Verb::Commit | Verb::SendOffsets
        );
        let is_of_a_transaction = matches!(
            verb,
            Verb::InitTransactions | Verb::ProduceInTransaction | Verb::SendOffsets | Verb::EndTransaction
        );
        match kind {
            Kind::OffsetOutOfRange => !reads,
            Kind::RecordTooLarge => !produces,
            Kind::OwnershipLost => !is_of_a_group,
            Kind::Fenced | Kind::ProducerFailed | Kind::AbortTransaction => !is_of_a_transaction,
            // Who asks for a topic to be made is told of each by itself: that is no request that fails.
            Kind::TopicExists => true,
            // They name none.
            Kind::UnknownTopic => matches!(verb, Verb::Leave | Verb::InitTransactions | Verb::EndTransaction),
            // Clients ask for records again and again, whatever becomes of one request.
            Kind::Retriable | Kind::Unknown => verb == Verb::Fetch,
            Kind::Unauthorized | Kind::Unsupported | Kind::Fatal => false,
        }
    }

    /// For each verb, all that a real cluster can answer it with, and nothing that it cannot.
    #[cfg(feature = "kafka")]
    #[test]
    fn every_error_that_a_real_cluster_gives_is_drawn() {
        use crate::cluster::kafka::{Step, kinds};

        fn steps(verb: Verb) -> &'static [Step] {
            match verb {
                Verb::Leave | Verb::Committed | Verb::Watermarks | Verb::Read | Verb::Fetch | Verb::Admin => {
                    &[Step::Other]
                }
                Verb::Commit => &[Step::OffsetCommit],
                Verb::Produce => &[Step::Delivery],
                Verb::ProduceInTransaction => &[Step::Begin, Step::Record],
                Verb::InitTransactions => &[Step::Init],
                Verb::SendOffsets => &[Step::Offsets],
                Verb::EndTransaction => &[Step::Commit, Step::Abort],
            }
        }
        let mut told = Vec::new();
        for verb in VERBS {
            let mut real: Vec<Kind> = steps(verb).iter().flat_map(|step| kinds(*step)).collect();
            real.retain(|kind| !never_comes(*kind, verb));
            let drawn = drawn(verb);
            for kind in &real {
                if !drawn.contains(kind) {
                    told.push(format!("{verb:?} can fail with {kind:?}, and no trial has that"));
                }
            }
            for kind in drawn {
                // Whether an answer was lost is not in the table: it is so for all of them.
                if kind != Kind::Unknown && !real.contains(&kind) {
                    told.push(format!("{verb:?} never fails with {kind:?}"));
                }
            }
        }
        assert!(told.is_empty(), "{}", told.join("\n"));
    }

    #[test]
    fn nothing_is_drawn_that_never_comes() {
        for verb in VERBS {
            for kind in drawn(verb) {
                assert!(!never_comes(kind, verb), "{verb:?}: {kind:?}");
            }
        }
    }
}
