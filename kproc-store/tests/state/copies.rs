//! Copies of a state, and what is put back: which of them are trusted.

use std::{fs, path::Path};

use kproc_store::{Condition, EnvironmentOptions, Inspector};

use crate::{
    common::{One, small},
    damage,
    opening::{Words, make, restart_machine, try_open},
};

fn copy(from: &Path, to: &Path, files: &[&str]) {
    for file in files {
        // Into the file that is there, if one is.
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

const ALL: &[&str] = &["data.mdb", "state.json"];

fn expect_doubt(directory: &Path, why: &str) {
    let inspected = Inspector::open(directory).unwrap();
    assert!(
        inspected.doubt().is_some_and(|doubt| doubt.contains(why)),
        "{:?}",
        inspected.doubt()
    );
    drop(inspected);
    let condition = try_open(directory).unwrap();
    assert!(
        matches!(&condition, Condition::Rebuild { reason, .. } if reason.contains(why)),
        "{condition:?}"
    );
}

/// Files are copied one after the other, and each part after part: of one that is written to, the copy is of no moment.
#[test]
fn a_copy_of_a_state_in_use_is_not_trusted_and_one_of_a_closed_state_is() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut one = Words::open(from.path());
    one.table.put("a", &1).unwrap();
    one.commit(5);
    copy(from.path(), to.path(), ALL);
    expect_doubt(to.path(), "a copy, made while it was in use");
    one.close();
    fs::remove_dir_all(to.path()).unwrap();
    fs::create_dir(to.path()).unwrap();
    copy(from.path(), to.path(), ALL);
    assert_eq!(try_open(to.path()).unwrap(), Condition::Intact);
    // It is the same file under another name.
    make(from.path(), &small(), drop);
    let moved = to.path().join("moved");
    fs::rename(from.path(), &moved).unwrap();
    assert_eq!(try_open(&moved).unwrap(), Condition::Intact);
}

/// So it is when a copy is made while the application is started.
#[test]
fn a_sidecar_of_one_moment_beside_data_of_another_is_not_trusted() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    make(from.path(), &small(), One::close);
    copy(from.path(), to.path(), &["state.json"]);
    make(from.path(), &small(), One::close);
    copy(from.path(), to.path(), &["data.mdb"]);
    expect_doubt(to.path(), "of another moment than");

    // What is older than the opening that the sidecar tells of is not what was opened.
    let mut one = Words::open(from.path());
    one.table.put("a", &2).unwrap();
    copy(from.path(), to.path(), ALL);
    one.commit(6);
    one.close();
    make(from.path(), &small(), drop);
    copy(to.path(), from.path(), &["data.mdb"]);
    expect_doubt(from.path(), "of another moment than");
}

/// The part that was copied first may be older than the one that was copied last.
#[test]
fn a_copy_of_a_closed_state_is_read_before_it_is_trusted() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    damage::make(from.path());
    copy(from.path(), to.path(), ALL);
    let path = to.path().join("data.mdb");
    let mut torn = fs::read(&path).unwrap();
    let middle = torn.len() / 8192 * 4096;
    torn[middle..][..4096].fill(7);
    fs::write(&path, torn).unwrap();
    let condition = One::<u64, Vec<u8>>::open(to.path()).condition;
    assert!(
        matches!(&condition, Condition::Rebuild { reason, .. } if reason.contains("page")),
        "{condition:?}"
    );
}

/// The files have the numbers of those that were copied then, and this is no other boot.
#[test]
fn a_backup_of_a_state_in_use_is_not_trusted_in_the_place_of_the_original() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut one = Words::open(from.path());
    one.table.put("a", &1).unwrap();
    one.commit(5);
    copy(from.path(), to.path(), ALL);
    one.close();
    copy(to.path(), from.path(), ALL);
    expect_doubt(from.path(), "a copy, made while it was in use");
}

/// What was written without a sync is not on the disk because what comes later is.
#[test]
fn a_state_is_not_synced_before_it_was_closed_once() {
    let directory = tempfile::tempdir().unwrap();
    let synced = EnvironmentOptions {
        sync: true,
        ..small()
    };
    make(directory.path(), &small(), drop);
    drop(Words::open_with(directory.path(), &synced));
    restart_machine(directory.path());
    expect_doubt(directory.path(), "the machine was restarted");

    make(directory.path(), &small(), One::close);
    drop(Words::open_with(directory.path(), &synced));
    restart_machine(directory.path());
    assert_eq!(try_open(directory.path()).unwrap(), Condition::Intact);
}
