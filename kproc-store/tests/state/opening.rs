//! What is found in a directory, and what is refused.

use std::{fs, io::BufRead, path::Path, sync::Arc, time::Duration};

use kproc_store::{
    CommitPoint, Condition, Environment, EnvironmentOptions, Followed, InputPosition, Marks, Offset,
    OpenError, Store, Table,
};

use crate::{
    child,
    common::{NOW, One, point, small, specs, vouch_for_any_file},
};

pub(crate) type Words = One<String, i64>;

pub(crate) fn try_open(directory: &Path) -> Result<Condition, OpenError> {
    let spec = Table::<String, i64>::default().spec("things".into());
    Environment::open(directory, &[spec], &small()).map(|opened| opened.condition)
}

/// An environment with one commit.
pub(crate) fn make(directory: &Path, options: &EnvironmentOptions, close: fn(Words)) {
    let mut one = Words::open_with(directory, options);
    one.table.put("a", &1).unwrap();
    one.commit(5);
    close(one);
}

fn edit_sidecar(directory: &Path, from: &str, to: &str) {
    let path = directory.join("state.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// As if the machine had been started again since.
pub(crate) fn restart_machine(directory: &Path) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    edit_sidecar(directory, boot.trim(), "00000000-0000-0000-0000-000000000000");
}

#[test]
fn d27_a_second_opening_in_the_same_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let one = Words::open(directory.path());
    let error = try_open(directory.path()).unwrap_err();
    assert!(
        matches!(&error, OpenError::InUse { holder, .. } if holder == "this process"),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&directory.path().display().to_string()),
        "{error}"
    );
    // And again, once the first one is gone. Its buffer counts.
    let Words {
        environment,
        mut table,
        ..
    } = one;
    drop(environment);
    assert!(matches!(try_open(directory.path()), Err(OpenError::InUse { .. })));
    table.detach();
    assert_eq!(try_open(directory.path()).unwrap(), Condition::Intact);
}

#[test]
fn d27_a_second_process_is_refused_and_told_by_whom() {
    const TEST: &str = "opening::d27_a_second_process_is_refused_and_told_by_whom";
    if let Some(directory) = child::role() {
        let one = Words::open(&directory);
        child::say("open");
        // Until the parent closes its end.
        std::io::stdin().lock().lines().for_each(drop);
        one.close();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut holder = child::command(TEST, directory.path()).spawn().unwrap();
    let mut said = std::io::BufReader::new(holder.stderr.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "open");
    let error = try_open(directory.path()).unwrap_err();
    let expected = format!("process {}", holder.id());
    assert!(
        matches!(&error, OpenError::InUse { holder, .. } if *holder == expected),
        "{error}"
    );
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    assert_eq!(try_open(directory.path()).unwrap(), Condition::Intact);
}

#[test]
fn d27_a_directory_that_is_removed_while_in_use_stops_the_commit() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("state");
    let mut one = Words::open(&directory);
    one.table.put("a", &1).unwrap();
    one.commit(1);
    fs::remove_dir_all(&directory).unwrap();
    one.table.put("a", &2).unwrap();
    let error = one.try_commit(2).unwrap_err().to_string();
    assert!(error.contains("removed or replaced while in use"), "{error}");
    // Another one in its place does not help.
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("lock"), "").unwrap();
    assert!(one.try_commit(2).is_err());
    assert!(one.buffer().is_dirty());
}

#[test]
fn the_last_commit_is_found_again_with_everything_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let environment = Environment::open(directory.path(), &specs(["a", "b", "c"]), &small())
        .unwrap()
        .environment;
    assert_eq!(environment.last_commit().unwrap(), CommitPoint::default());
    let input = |topic: &str, next, metadata: &str| InputPosition {
        topic: topic.into(),
        next: Offset::new(next),
        metadata: metadata.into(),
    };
    let point = CommitPoint {
        changelogs: vec![(0, Offset::ZERO), (2, Offset::new(1 << 40))],
        inputs: vec![input("words", 0, ""), input("flüge", u64::MAX, "v1 5 owed:abcd")],
        committed_at: Some(NOW),
    };
    environment.commit(&mut [], &point).unwrap();
    assert_eq!(environment.last_commit().unwrap(), point);
    environment.close().unwrap();
    let environment = Environment::open(directory.path(), &specs(["a", "b", "c"]), &small())
        .unwrap()
        .environment;
    assert_eq!(environment.last_commit().unwrap(), point);
    assert_eq!(
        environment.position(0).unwrap(),
        Some(Offset::ZERO),
        "zero is not nothing"
    );
    assert_eq!(environment.position(1).unwrap(), None);
    // The next one says less.
    environment.commit(&mut [], &CommitPoint::default()).unwrap();
    let last = environment.last_commit().unwrap();
    assert_eq!((last.committed_at, last.inputs.len()), (None, 0));
    assert_eq!(
        last.changelogs, point.changelogs,
        "positions stay until they are changed or cleared"
    );
}

/// States of the first versions have stream time instead of what was committed with the inputs; and versions that did not
/// know of that pass it over.
#[test]
fn a_commit_of_a_version_that_kept_no_metadata_is_read() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), &small(), One::close);
    {
        let mut options = heed::EnvOpenOptions::new();
        // SAFETY: nobody else has this directory.
        let env = unsafe { options.max_dbs(4).map_size(64 << 20).open(directory.path()) }.unwrap();
        let txn = env.read_txn().unwrap();
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let meta = opener.open_database::<heed::types::Bytes, heed::types::Bytes>(txn, Some("meta"))?;
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(meta.unwrap()))
        });
        let meta = opened.unwrap().unwrap_commit();
        let mut txn = env.write_txn().unwrap();
        // One input with its position, stream time, no wall time.
        meta.put(&mut txn, b"commit", b"\x01\x05words\x07\x01\x0a\x00")
            .unwrap();
        txn.commit().unwrap();
    }
    vouch_for_any_file(directory.path());
    let one = Words::open(directory.path());
    assert_eq!(one.condition, Condition::Intact);
    let input = InputPosition {
        topic: "words".into(),
        next: Offset::new(7),
        metadata: String::new(),
    };
    assert_eq!(one.environment.last_commit().unwrap().inputs, [input]);
}

#[test]
fn clearing_a_store_leaves_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let environment = Environment::open(directory.path(), &specs(["a", "b"]), &small())
        .unwrap()
        .environment;
    for store in 0..2 {
        let mut entries = [(&b"key"[..], Some(&b"value"[..]))].into_iter();
        environment.restore(store, &mut entries, Offset::new(9)).unwrap();
    }
    environment.clear(0).unwrap();
    let marks = Arc::new(Marks::default());
    let expected = [(None, None), (Some(Offset::new(9)), Some(&b"value"[..]))];
    for (store, (position, value)) in expected.into_iter().enumerate() {
        assert_eq!(environment.position(store).unwrap(), position);
        assert_eq!(
            environment.buffer(store, &marks).unwrap().get(b"key").unwrap(),
            value
        );
    }
}

#[test]
fn a_restored_piece_counts_per_key_the_last_record() {
    let directory = tempfile::tempdir().unwrap();
    let environment = Environment::open(directory.path(), &specs(["a"]), &small())
        .unwrap()
        .environment;
    let entries: [(&[u8], Option<&[u8]>); 7] = [
        (b"z", Some(b"1")),
        (b"a", Some(b"1")),
        (b"gone", Some(b"1")),
        (b"a", None),
        (b"gone", None),
        (b"a", Some(b"2")),
        (b"never", None),
    ];
    environment
        .restore(0, &mut entries.into_iter(), Offset::new(7))
        .unwrap();
    let buffer = environment.buffer(0, &Arc::new(Marks::default())).unwrap();
    let expected: [(&[u8], Option<&[u8]>); 4] = [
        (b"a", Some(b"2")),
        (b"gone", None),
        (b"never", None),
        (b"z", Some(b"1")),
    ];
    for (key, value) in expected {
        assert_eq!(buffer.get(key).unwrap(), value);
    }
}

#[test]
fn other_types_are_refused_and_nothing_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), &small(), One::close);
    let data = fs::read(directory.path().join("data.mdb")).unwrap();
    let spec = Table::<String, String>::default().spec("things".into());
    let error = Environment::open(directory.path(), &[spec], &small()).unwrap_err();
    let OpenError::Types {
        store,
        found,
        declared,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (&store[..], &found[..], &declared[..]),
        (
            "things",
            "a table of i64 by string",
            "a table of string by string"
        )
    );
    assert_eq!(fs::read(directory.path().join("data.mdb")).unwrap(), data);
    restart_machine(directory.path());
    assert_eq!(try_open(directory.path()).unwrap(), Condition::Intact);
}

#[test]
fn a_newer_format_is_refused_and_nothing_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), &small(), One::close);
    let data = fs::read(directory.path().join("data.mdb")).unwrap();
    edit_sidecar(directory.path(), "\"format\":1", "\"format\":2");
    let error = try_open(directory.path()).unwrap_err();
    assert!(
        matches!(
            error,
            OpenError::NewerFormat {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(fs::read(directory.path().join("data.mdb")).unwrap(), data);
    edit_sidecar(directory.path(), "\"format\":2", "\"format\":1");
    assert_eq!(try_open(directory.path()).unwrap(), Condition::Intact);
}

#[test]
fn a_crash_of_the_process_loses_nothing_and_one_of_the_machine_is_noticed() {
    for (sync, close, expected) in [
        (false, One::close as fn(Words), None),
        (false, drop, Some("the machine was restarted since")),
        (true, One::close, None),
        (true, drop, None),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let options = EnvironmentOptions { sync, ..small() };
        make(directory.path(), &options, close);
        // The process alone.
        make(directory.path(), &options, close);
        let one = Words::open_with(directory.path(), &options);
        assert_eq!(one.condition, Condition::Intact);
        assert_eq!(one.table.get("a").unwrap(), Some(1));
        close(one);
        // The machine, too. What counts is how the state was written, and not how it is opened now.
        restart_machine(directory.path());
        let mut one = Words::open_with(
            directory.path(),
            &EnvironmentOptions {
                sync: true,
                ..small()
            },
        );
        match (&one.condition, expected) {
            (Condition::Intact, None) => assert_eq!(one.table.get("a").unwrap(), Some(1)),
            (
                Condition::Rebuild {
                    reason,
                    set_aside: None,
                },
                Some(expected),
            ) => {
                assert!(reason.contains(expected), "{reason}");
                assert!(one.table.is_empty().unwrap());
                assert_eq!(one.position(), None);
            }
            (found, expected) => panic!("sync {sync}: expected {expected:?}, found {found:?}"),
        }
        assert!(!one.buffer().is_dirty());
    }
}

#[test]
fn a_state_on_another_device_or_without_a_sidecar_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), &small(), drop);
    edit_sidecar(directory.path(), "\"device\":", "\"device\":9");
    let condition = try_open(directory.path()).unwrap();
    assert!(
        matches!(&condition, Condition::Rebuild { reason, .. } if reason.contains("device")),
        "{condition:?}"
    );

    make(directory.path(), &small(), One::close);
    fs::remove_file(directory.path().join("state.json")).unwrap();
    let condition = try_open(directory.path()).unwrap();
    assert!(
        matches!(
            condition,
            Condition::Rebuild {
                set_aside: Some(_),
                ..
            }
        ),
        "{condition:?}"
    );

    make(directory.path(), &small(), One::close);
    fs::write(directory.path().join("state.json"), "{").unwrap();
    let condition = try_open(directory.path()).unwrap();
    assert!(
        matches!(
            condition,
            Condition::Rebuild {
                set_aside: Some(_),
                ..
            }
        ),
        "{condition:?}"
    );
}

#[test]
fn a_store_tells_up_to_when_it_has_all_of_its_changelog() {
    let open = |directory: &Path| {
        let opened = Environment::open(directory, &specs(["a", "b"]), &small()).unwrap();
        opened.environment
    };
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let followed = |until: u64, kept: u64| Followed {
        until: NOW.saturating_add(hours(until)),
        kept: hours(kept),
    };
    let directory = tempfile::tempdir().unwrap();
    let environment = open(directory.path());
    assert_eq!(environment.followed(0).unwrap(), None);

    // It is to be filled from offset 3 on; pieces of that make it no younger.
    environment.follow(0, Offset::new(3), followed(0, 24)).unwrap();
    assert_eq!(environment.position(0).unwrap(), Some(Offset::new(3)));
    let mut piece = [(&b"key"[..], Some(&b"value"[..]))].into_iter();
    environment.restore(0, &mut piece, Offset::new(4)).unwrap();
    assert_eq!(environment.followed(0).unwrap(), Some(followed(0, 24)));
    drop(environment);

    // A commit does, for the stores whose positions it has.
    let environment = open(directory.path());
    assert_eq!(environment.followed(0).unwrap(), Some(followed(0, 24)));
    environment.follow(1, Offset::new(0), followed(1, 12)).unwrap();
    let point = CommitPoint {
        committed_at: Some(NOW.saturating_add(hours(2))),
        ..point(5)
    };
    assert_eq!(point.changelogs, [(0, Offset::new(5))]);
    environment.commit(&mut [], &point).unwrap();
    environment.close().unwrap();
    let environment = open(directory.path());
    assert_eq!(environment.followed(0).unwrap(), Some(followed(2, 24)));
    assert_eq!(environment.followed(1).unwrap(), Some(followed(1, 12)));

    // Nothing is known of a store that was emptied, nor of one that was committed without ever being brought up.
    environment.clear(0).unwrap();
    assert_eq!(environment.followed(0).unwrap(), None);
    assert_eq!(environment.followed(1).unwrap(), Some(followed(1, 12)));
    environment.commit(&mut [], &point).unwrap();
    assert_eq!(environment.followed(0).unwrap(), None);
}

#[test]
fn bad_names_are_refused_before_anything_is_made() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("state");
    for (names, says) in [
        (vec![String::new()], "cannot be named \"\""),
        (vec!["a\0b".into()], "cannot be named \"a\\0b\""),
        (vec!["x".repeat(201)], "1 to 200 bytes"),
        (
            vec!["a".into(), "b".into(), "a".into()],
            "two stores are named `a`",
        ),
    ] {
        let error = Environment::open(&directory, &specs(names), &small())
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(!directory.exists());
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let error = try_open(&file.join("state")).unwrap_err();
    assert!(error.to_string().contains("file/state"), "{error}");
}

#[test]
fn a_state_is_removed_unless_somebody_has_it_open() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("state");
    assert!(!Environment::remove(&directory).unwrap());
    let one = Words::open(&directory);
    assert!(matches!(
        Environment::remove(&directory),
        Err(OpenError::InUse { .. })
    ));
    one.close();
    assert!(Environment::remove(&directory).unwrap());
    assert!(!directory.exists());
    make(&directory, &small(), One::close);
    fs::write(directory.join("notes.txt"), "mine").unwrap();
    assert!(Environment::remove(&directory).unwrap());
    let left: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["notes.txt"]);
}
