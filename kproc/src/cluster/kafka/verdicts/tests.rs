//! The table is whole, says what Kafka says, and is what `docs/errors.md` shows.

#![allow(clippy::enum_glob_use, reason = "the names are long enough")]

use std::{collections::BTreeSet, fmt::Write, path::Path};

use Code::*;

use super::*;

/// All codes that librdkafka knows.
fn codes() -> Vec<Code> {
    let all = (-200..=200).filter_map(|number| Code::try_from(number).ok());
    let codes: Vec<Code> = all
        .filter(|code| {
            !matches!(
                code,
                RD_KAFKA_RESP_ERR__BEGIN | RD_KAFKA_RESP_ERR__END | RD_KAFKA_RESP_ERR_NO_ERROR
            )
        })
        .collect();
    assert!(codes.len() > 150, "{}", codes.len());
    codes
}

const ALL: [Step; 9] = [
    Step::Other,
    Step::Init,
    Step::Begin,
    Step::Record,
    Step::Offsets,
    Step::Commit,
    Step::Abort,
    Step::Delivery,
    Step::OffsetCommit,
];

const STEPS: [Step; 5] = [Step::Init, Step::Record, Step::Offsets, Step::Commit, Step::Abort];

fn ends_the_instance(kind: Kind) -> bool {
    !matches!(kind, RETRY | ABORT | REBUILD | FENCED | UNKNOWN | LOST)
}

#[test]
fn every_code_is_judged_once() {
    let mut seen = BTreeSet::new();
    for row in TABLE {
        assert!(row.why.ends_with(['.', ')']), "{}", row.why);
        for code in row.codes {
            assert!(seen.insert(*code as i32), "{code:?} is in two rows");
        }
    }
    for code in codes() {
        for step in ALL {
            let kind = by_code(code, step);
            let transactional = step.is_transactional();
            assert!(
                transactional || kind != ABORT,
                "{code:?}: nothing to abort in {step:?}"
            );
            // It was made again for as long as there was time.
            let over = matches!(step, Step::Record | Step::Offsets | Step::Commit | Step::Abort);
            assert!(
                !(over && kind == RETRY),
                "{code:?}: what comes after the last try of {step:?}?"
            );
            assert!(
                !(step == Step::Abort && matches!(kind, ABORT | UNKNOWN)),
                "{code:?}: after an abort?"
            );
        }
    }
}

#[test]
fn what_is_in_no_row_aborts() {
    let code = RD_KAFKA_RESP_ERR_INCONSISTENT_VOTER_SET;
    assert!(TABLE.iter().all(|row| !row.codes.contains(&code)));
    let kinds = STEPS.map(|step| by_code(code, step));
    assert_eq!(kinds, [REBUILD, ABORT, ABORT, ABORT, REBUILD]);
}

/// The subclasses of Kafka's `RetriableException`, and what librdkafka flags.
const RETRIABLE: &[Code] = &[
    RD_KAFKA_RESP_ERR_INVALID_MSG,
    RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
    RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
    RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
    RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
    RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    RD_KAFKA_RESP_ERR_NOT_CONTROLLER,
    RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
    RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
    RD_KAFKA_RESP_ERR_FETCH_SESSION_ID_NOT_FOUND,
    RD_KAFKA_RESP_ERR_INVALID_FETCH_SESSION_EPOCH,
    RD_KAFKA_RESP_ERR_LISTENER_NOT_FOUND,
    RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
    RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
    RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE,
    RD_KAFKA_RESP_ERR_ELECTION_NOT_NEEDED,
    RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT,
    RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED,
    RD_KAFKA_RESP_ERR__TIMED_OUT,
    RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
    RD_KAFKA_RESP_ERR__TRANSPORT,
];

#[test]
fn nothing_ends_the_instance_that_kafka_calls_retriable() {
    for code in RETRIABLE {
        for step in STEPS.into_iter().chain([Step::Delivery, Step::OffsetCommit]) {
            let kind = by_code(*code, step);
            assert!(!ends_the_instance(kind), "{code:?} at {step:?}: {kind:?}");
        }
        assert_eq!(by_code(*code, Step::Init), RETRY, "{code:?}");
        // Its answer may be what was lost: never assumed.
        assert_eq!(by_code(*code, Step::Commit), UNKNOWN, "{code:?}");
    }
}

#[test]
fn what_librdkafka_lets_be_aborted_is_aborted() {
    for code in [
        RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
        RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
        RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
    ] {
        assert_eq!(by_code(code, Step::Offsets), LOST);
    }
    for code in [
        RD_KAFKA_RESP_ERR__INCONSISTENT,
        RD_KAFKA_RESP_ERR__TIMED_OUT,
        RD_KAFKA_RESP_ERR__PURGE_QUEUE,
        RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
        RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    ] {
        assert_eq!(by_code(code, Step::Offsets), ABORT, "{code:?}");
        assert_eq!(by_code(code, Step::Record), ABORT, "{code:?}");
    }
    // Scenario E02: an abort that comes after a time-out.
    assert_eq!(by_code(RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, Step::Abort), REBUILD);
}

#[test]
fn no_producer_outlives_its_fatal_error() {
    for code in codes() {
        let error = NativeError {
            fatal: true,
            ..NativeError::of(code)
        };
        for step in ALL.into_iter().filter(|step| step.is_transactional()) {
            let kind = verdict(&error, step);
            // What is lost is aborted first; that fails, and the producer is made anew.
            assert!(
                matches!(kind, REBUILD | FENCED | LOST) || ends_the_instance(kind),
                "{code:?} at {step:?}: {kind:?}"
            );
        }
    }
    let denied = NativeError {
        fatal: true,
        ..NativeError::of(RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    };
    assert_eq!(verdict(&denied, Step::Init), Kind::Unauthorized);
}

fn word(kind: Kind) -> &'static str {
    match kind {
        RETRY => "later",
        ABORT => "abort",
        REBUILD => "rebuild",
        FENCED => "fenced",
        UNKNOWN => "unknown",
        LOST => "lost",
        Kind::RecordTooLarge => "refused: size",
        Kind::UnknownTopic => "refused: topic",
        Kind::OffsetOutOfRange => "no such offset",
        Kind::TopicExists => "exists",
        Kind::Unauthorized => "end: denied",
        Kind::Unsupported => "end: too old",
        STOP => "end",
    }
}

/// The table as text.
fn shown() -> String {
    let mut text = String::from(
        "| error | init | record | offsets | commit | abort | at least once: record | offsets | else | why |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in TABLE {
        let names: Vec<String> = row
            .codes
            .iter()
            .map(|code| NativeError::of(*code).name())
            .collect();
        let names = match &*names {
            [] => "all others".to_owned(),
            names => format!("`{}`", names.join("`, `")),
        };
        let steps = STEPS
            .into_iter()
            .chain([Step::Delivery, Step::OffsetCommit, Step::Other]);
        let cells: Vec<&str> = steps.map(|step| word(row.at(step))).collect();
        writeln!(text, "| {names} | {} | {} |", cells.join(" | "), row.why).unwrap();
    }
    text
}

/// `UPDATE_ERRORS=1 cargo test -p kproc --lib verdicts`, and read the difference.
#[test]
fn the_documentation_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let start = page.find("| error |").expect("the page has the table");
    let end = start
        + page[start..]
            .find("\n\n")
            .map_or(page.len() - start, |end| end + 1);
    let updated = format!("{}{}{}", &page[..start], shown(), &page[end..]);
    if std::env::var_os("UPDATE_ERRORS").is_some() {
        std::fs::write(&path, &updated).unwrap();
    }
    assert!(
        page == updated,
        "docs/errors.md does not show the table: {}",
        shown()
    );
}
