//! State that need not outlive the machine's run.

use std::{fs, path::Path};

use kproc_store::{Condition, EnvironmentOptions};

use crate::common::{One, small};

fn temporary() -> EnvironmentOptions {
    EnvironmentOptions {
        temporary: true,
        ..small()
    }
}

/// Whether the sidecar says that the environment was closed in good order, after which nothing is doubted any more.
fn says_clean(directory: &Path) -> bool {
    fs::read_to_string(directory.join("state.json"))
        .unwrap()
        .contains("\"clean\":true")
}

#[test]
fn temporary_state_survives_close_and_crash_but_never_claims_to_be_on_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    for (round, closed) in [true, false, true].into_iter().enumerate() {
        let mut one = One::<String, i64>::open_with(directory.path(), &temporary());
        let found = one.table.get("plum").unwrap();
        if round == 0 {
            assert_eq!((&one.condition, found), (&Condition::New, None));
        } else {
            assert_eq!((&one.condition, found), (&Condition::Intact, Some(round as i64)));
        }
        one.table.put("plum", &(round as i64 + 1)).unwrap();
        one.commit(round as u64 + 1);
        if closed {
            one.close();
        } else {
            drop(one);
        }
        assert!(!says_clean(directory.path()));
    }
}

#[test]
fn durable_state_opened_as_temporary_is_not_clean_any_more() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    one.table.put("plum", &1).unwrap();
    one.commit(1);
    one.close();
    assert!(says_clean(directory.path()));

    One::<String, i64>::open_with(directory.path(), &temporary()).close();
    assert!(!says_clean(directory.path()));
    let one = One::<String, i64>::open(directory.path());
    assert_eq!(one.condition, Condition::Intact);
    one.close();
    assert!(says_clean(directory.path()));
}
