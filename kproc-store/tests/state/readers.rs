//! Those who only look.

use std::{
    fs,
    io::BufRead,
    ops::{Bound, ControlFlow},
    path::Path,
    process::Child,
};

use kproc_store::{InputPosition, Inspector, Offset, OpenError, StoreInfo};

use crate::{
    child,
    common::{Bytes, NOW, One, point, small, specs},
};

fn all(inspector: &Inspector, first: Bound<&[u8]>, last: Bound<&[u8]>) -> Vec<(Bytes, Bytes)> {
    let mut found = Vec::new();
    let mut each = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    inspector.scan("things", (first, last), &mut each).unwrap();
    found
}

#[test]
fn an_inspector_sees_what_is_committed() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    for key in 0..2500 {
        one.table.put(&key, &vec![1; 10]).unwrap();
    }
    let mut commit = point(2500);
    commit.inputs.push(InputPosition {
        topic: "words".into(),
        next: Offset::new(99),
        metadata: "anything".into(),
    });
    one.environment
        .commit(
            &mut [(0, kproc_store::Store::buffer(&mut one.table).unwrap())],
            &commit,
        )
        .unwrap();
    one.close();

    let inspector = Inspector::open(directory.path()).unwrap();
    assert_eq!(inspector.doubt(), None);
    let expected = StoreInfo {
        name: "things".into(),
        kind: "table".into(),
        key: "u64".into(),
        value: "bytes".into(),
        entries: 2500,
        position: Some(Offset::new(2500)),
    };
    assert_eq!(inspector.stores().unwrap(), [expected]);
    let last = inspector.last_commit().unwrap();
    assert_eq!((last.inputs, last.committed_at), (commit.inputs, Some(NOW)));
    let key = |key: u64| key.to_be_bytes();
    assert_eq!(inspector.get("things", &key(7)).unwrap(), Some(vec![1; 10]));
    assert_eq!(inspector.get("things", &key(9999)).unwrap(), None);
    let every = all(&inspector, Bound::Unbounded, Bound::Unbounded);
    assert_eq!(every.len(), 2500);
    assert!(every.is_sorted() && every[0].0 == key(0));
    let some = all(&inspector, Bound::Excluded(&key(10)), Bound::Included(&key(1500)));
    assert_eq!((some.len(), &some[0].0[..]), (1490, &key(11)[..]));
    let mut count = 0;
    let mut until = |_: &[u8], _: &[u8]| {
        count += 1;
        if count == 1700 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    inspector
        .scan("things", (Bound::Unbounded, Bound::Unbounded), &mut until)
        .unwrap();
    assert_eq!(count, 1700);
    let error = inspector.get("thing", &key(7)).unwrap_err().to_string();
    assert!(
        error.contains("there is no store `thing` here, but: things"),
        "{error}"
    );
}

#[test]
fn an_inspector_changes_nothing_and_locks_nobody_out() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    one.table.put(&1, &vec![1]).unwrap();
    one.commit(1);
    one.close();
    let before = fs::read(directory.path().join("data.mdb")).unwrap();
    let sidecar = fs::read(directory.path().join("state.json")).unwrap();
    drop(Inspector::open(directory.path()).unwrap());
    assert_eq!(fs::read(directory.path().join("data.mdb")).unwrap(), before);
    assert_eq!(fs::read(directory.path().join("state.json")).unwrap(), sidecar);
    // In one process they would be in each other's way, and say so.
    let one = One::<u64, Bytes>::open(directory.path());
    let error = Inspector::open(directory.path()).map(drop).unwrap_err();
    assert!(
        matches!(&error, OpenError::InUse { holder, .. } if holder == "this process"),
        "{error}"
    );
    one.close();
    let _inspector = Inspector::open(directory.path()).unwrap();
    let error = kproc_store::Environment::open(directory.path(), &specs(["a"]), &small()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
}

#[test]
fn an_inspector_says_where_nothing_is_and_what_is_doubtful() {
    let directory = tempfile::tempdir().unwrap();
    let error = Inspector::open(directory.path())
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(error.contains("no state is here"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    drop(One::<u64, Bytes>::open(directory.path()));
    let sidecar = directory.path().join("state.json");
    let text = fs::read_to_string(&sidecar).unwrap();
    assert_eq!(
        Inspector::open(directory.path()).unwrap().doubt(),
        None,
        "the process alone has died"
    );
    fs::write(&sidecar, text.replace("\"boot\":\"", "\"boot\":\"x")).unwrap();
    let inspector = Inspector::open(directory.path()).unwrap();
    assert!(
        inspector.doubt().unwrap().contains("restarted"),
        "{:?}",
        inspector.doubt()
    );
}

/// A child that reads, holding one transaction, until it is told to end.
fn hold_a_transaction(directory: &Path) {
    let mut options = heed::EnvOpenOptions::new();
    // SAFETY: reading only, beside the parent, on a local disk.
    let env = unsafe { options.flags(heed::EnvFlags::READ_ONLY).open(directory) }.unwrap();
    let _txn = env.read_txn().unwrap();
    child::say("reading");
    std::io::stdin().lock().lines().for_each(drop);
}

fn start_reader(test: &str, directory: &Path) -> Child {
    let mut reader = child::command(test, directory).spawn().unwrap();
    let said = std::io::BufReader::new(reader.stderr.take().unwrap())
        .lines()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(said, "reading");
    reader
}

fn rewrite(one: &mut One<u64, Bytes>, commits: u64) -> u64 {
    for commit in 0..commits {
        for key in 0..200 {
            one.table.put(&key, &vec![commit as u8; 500]).unwrap();
        }
        one.commit(commit);
    }
    fs::metadata(one.environment.directory().join("data.mdb"))
        .unwrap()
        .len()
}

#[test]
fn d23_our_own_readers_do_not_make_the_file_grow() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    let early = rewrite(&mut one, 10);
    let late = rewrite(&mut one, 500);
    assert!(late <= early * 2, "{early} bytes, then {late}");
}

#[test]
fn d23_a_reader_that_stays_open_costs_space_and_one_that_was_killed_does_not() {
    const TEST: &str = "readers::d23_a_reader_that_stays_open_costs_space_and_one_that_was_killed_does_not";
    if let Some(directory) = child::role() {
        return hold_a_transaction(&directory);
    }
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    let before = rewrite(&mut one, 20);
    let mut reader = start_reader(TEST, directory.path());
    let beside = rewrite(&mut one, 100);
    assert!(
        beside > before * 10,
        "the reader holds on to what it reads: {before} bytes, then {beside}"
    );
    // It dies without a word while we are open: its place in LMDB's table of readers is not given back.
    reader.kill().unwrap();
    reader.wait().unwrap();
    // The next opening finds it.
    one.close();
    let mut one = One::<u64, Bytes>::open(directory.path());
    let after = rewrite(&mut one, 500);
    assert!(after <= beside + before, "{beside} bytes, then {after}");
    assert_eq!(one.table.len().unwrap(), 200);
}

#[test]
fn a_dead_reader_is_cleared_when_the_map_is_full() {
    const TEST: &str = "readers::a_dead_reader_is_cleared_when_the_map_is_full";
    if let Some(directory) = child::role() {
        return hold_a_transaction(&directory);
    }
    let directory = tempfile::tempdir().unwrap();
    let options = kproc_store::EnvironmentOptions {
        max_map_size: 4 << 20,
        ..small()
    };
    let mut one = One::<u64, Bytes>::open_with(directory.path(), &options);
    rewrite(&mut one, 5);
    let mut reader = start_reader(TEST, directory.path());
    reader.kill().unwrap();
    reader.wait().unwrap();
    // Without that, this would need many times the largest map.
    rewrite(&mut one, 500);
}

#[test]
fn d24_two_hundred_threads_read_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    for key in 0..200 {
        one.table.put(&key, &vec![key as u8; 10]).unwrap();
    }
    one.commit(1);
    one.close();
    let inspector = Inspector::open(directory.path()).unwrap();
    std::thread::scope(|scope| {
        for key in 0..200_u64 {
            let inspector = &inspector;
            scope.spawn(move || {
                for _ in 0..10 {
                    let value = inspector.get("things", &key.to_be_bytes()).unwrap();
                    assert_eq!(value, Some(vec![key as u8; 10]));
                }
            });
        }
    });
}
