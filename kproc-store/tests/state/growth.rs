//! The memory map is full and grows.

use std::{ops::Bound, ops::ControlFlow, sync::Arc, thread};

use kproc_store::{
    CommitPoint, Condition, Environment, EnvironmentOptions, Inspector, Marks, Offset, Store, StoreError,
    Table,
};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::{
    child,
    common::{Bytes, One, fast_directory, point, small, specs},
};

#[test]
fn d16_a_map_of_one_megabyte_takes_a_hundred() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    for commit in 0..10_u64 {
        for n in 0..10_000 {
            one.table
                .put(&(commit * 10_000 + n), &vec![commit as u8; 1000])
                .unwrap();
        }
        one.commit(commit + 1);
    }
    assert_eq!(one.table.len().unwrap(), 100_000);
    one.close();
    // The next time the map is large enough from the beginning, whatever the options say.
    let mut one = One::<u64, Bytes>::open(directory.path());
    assert_eq!(one.condition, Condition::Intact);
    for n in (0..100_000).step_by(997) {
        assert_eq!(one.table.get(&n).unwrap(), Some(&[(n / 10_000) as u8; 1000][..]));
    }
    one.table.put(&0, &vec![99; 1000]).unwrap();
    one.commit(11);
}

#[test]
fn one_commit_larger_than_the_map_and_than_a_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    for n in 0..35_000 {
        one.table.put(&n, &vec![1; 300]).unwrap();
    }
    one.commit(1);
    assert_eq!(one.table.len().unwrap(), 35_000);
    assert_eq!(one.position(), Some(1));
}

#[test]
fn growth_ends_at_the_limit_and_the_commit_can_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let options = EnvironmentOptions {
        max_map_size: 4 << 20,
        ..small()
    };
    let mut one = One::<u64, Bytes>::open_with(directory.path(), &options);
    one.table.put(&7, &vec![7; 100]).unwrap();
    one.commit(1);
    // Large enough to be written in several transactions; some of them fit.
    for n in 0..30_000 {
        one.table.put(&n, &vec![1; 200]).unwrap();
    }
    for _ in 0..2 {
        let error = one.try_commit(2).unwrap_err();
        assert!(
            matches!(error, StoreError::MapFull { limit, .. } if limit == 4 << 20),
            "{error}"
        );
        assert_eq!(one.buffer().dirty_len(), 30_000);
        assert_eq!(one.table.len().unwrap(), 30_000);
        assert_eq!(one.position(), Some(1), "what was written in part is not claimed");
    }
    one.table.retain(|n, _| n < 100).unwrap();
    one.commit(2);
    assert_eq!(one.table.len().unwrap(), 100);
    assert_eq!(one.position(), Some(2));
}

#[test]
fn entries_of_a_store_without_a_changelog_are_written_all_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let options = EnvironmentOptions {
        max_map_size: 4 << 20,
        ..small()
    };
    let specs = specs(["with", "without"]);
    let open = || {
        Environment::open(directory.path(), &specs, &options)
            .unwrap()
            .environment
    };
    let environment = open();
    let marks = Arc::new(Marks::default());
    let mut with = environment.buffer(0, &marks).unwrap();
    let mut without = environment.buffer(1, &marks).unwrap();
    for n in 0..30_000_u32 {
        with.put(&n.to_be_bytes(), &[1; 200]).unwrap();
        without.put(&n.to_be_bytes(), &[1; 200]).unwrap();
    }
    let error = environment
        .commit(&mut [(0, &mut with), (1, &mut without)], &point(2))
        .unwrap_err();
    assert!(matches!(error, StoreError::MapFull { .. }), "{error}");
    drop((with, without, environment));
    let environment = open();
    let (with, without) = (
        environment.buffer(0, &marks).unwrap(),
        environment.buffer(1, &marks).unwrap(),
    );
    assert!(
        with.get(&[0; 4]).unwrap().is_some(),
        "this test is to fail half-way"
    );
    assert!(without.get(&[0; 4]).unwrap().is_none());
    assert_eq!(environment.position(0).unwrap(), None);
}

#[test]
fn a_position_is_not_written_before_the_entries_of_stores_without_a_changelog() {
    let directory = tempfile::tempdir().unwrap();
    let options = EnvironmentOptions {
        max_map_size: 4 << 20,
        ..small()
    };
    let specs = specs(["with", "without"]);
    let environment = Environment::open(directory.path(), &specs, &options)
        .unwrap()
        .environment;
    let marks = Arc::new(Marks::default());
    let mut with = environment.buffer(0, &marks).unwrap();
    let mut without = environment.buffer(1, &marks).unwrap();
    with.put(b"key", b"value").unwrap();
    for n in 0..30_000_u32 {
        without.put(&n.to_be_bytes(), &[1; 200]).unwrap();
    }
    let error = environment
        .commit(&mut [(0, &mut with), (1, &mut without)], &point(2))
        .unwrap_err();
    assert!(matches!(error, StoreError::MapFull { .. }), "{error}");
    assert_eq!(environment.position(0).unwrap(), None);
    assert_eq!(environment.last_commit().unwrap(), CommitPoint::default());
    with.discard();
    without.discard();
    assert!(with.get(b"key").unwrap().is_none());
    assert!(without.get(&[0; 4]).unwrap().is_none());
}

#[test]
fn d17_a_reader_in_another_process_goes_on_while_the_map_grows() {
    const TEST: &str = "growth::d17_a_reader_in_another_process_goes_on_while_the_map_grows";
    if let Some(directory) = child::role() {
        // Each commit writes all keys with one number: any other view is broken.
        let inspector = Inspector::open(&directory).unwrap();
        let mut last = None;
        while last < Some(200) {
            let mut seen = Vec::new();
            let mut each = |_: &[u8], value: &[u8]| {
                seen.push(value[0]);
                ControlFlow::Continue(())
            };
            inspector
                .scan("things", (Bound::Unbounded, Bound::Unbounded), &mut each)
                .unwrap();
            assert!(
                seen.len() == 500 && seen.iter().all(|n| *n == seen[0]),
                "{seen:?}"
            );
            assert!(Some(seen[0]) >= last, "time goes backwards");
            if last.is_none() {
                child::say("looking");
            }
            last = Some(seen[0]);
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    let mut write = |n: u8| {
        for key in 0..500 {
            one.table.put(&key, &vec![n; 8 + usize::from(n) * 40]).unwrap();
        }
        one.commit(u64::from(n));
    };
    write(1);
    let mut reader = child::command(TEST, directory.path()).spawn().unwrap();
    let mut said = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(reader.stderr.as_mut().unwrap()),
        &mut said,
    )
    .unwrap();
    assert_eq!(said, "looking\n");
    for n in 2..=200 {
        write(n);
    }
    assert!(reader.wait().unwrap().success());
}

#[test]
fn d18_eight_tasks_write_while_their_maps_grow() {
    let directory = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for task in 0..8_u64 {
            let directory = directory.path().join(task.to_string());
            scope.spawn(move || {
                let mut one = One::<u64, Bytes>::open(&directory);
                for commit in 1..=8_u64 {
                    for n in 0..500 {
                        one.table
                            .put(&(commit * 500 + n), &vec![task as u8; 1000])
                            .unwrap();
                    }
                    one.commit(commit);
                }
                assert_eq!(one.table.len().unwrap(), 4000);
                assert!(
                    one.table
                        .iter()
                        .all(|entry| entry.unwrap().1 == vec![task as u8; 1000])
                );
            });
        }
    });
}

#[test]
fn d18_eight_threads_commit_to_one_environment_in_turn() {
    // A task at rest moves from thread to thread; the map grows on any of them.
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    for n in 0..8_u64 {
        one = thread::spawn(move || {
            for key in 0..1000 {
                one.table.put(&(n * 1000 + key), &vec![n as u8; 1000]).unwrap();
            }
            one.commit(n + 1);
            one
        })
        .join()
        .unwrap();
    }
    assert_eq!(one.table.len().unwrap(), 8000);
}

#[test]
fn a_restore_grows_the_map_but_not_under_a_buffer() {
    let directory = tempfile::tempdir().unwrap();
    let environment = Environment::open(directory.path(), &specs(["things"]), &small())
        .unwrap()
        .environment;
    let entries: Vec<_> = (0..5000_u32)
        .map(|n| (n.to_be_bytes(), vec![n as u8; 1000]))
        .collect();
    let piece = || entries.iter().map(|(key, value)| (&key[..], Some(&value[..])));
    let buffer = environment.buffer(0, &Arc::new(Marks::default())).unwrap();
    let error = environment
        .restore(0, &mut piece(), Offset::new(5000))
        .unwrap_err();
    assert!(
        error.to_string().contains("cannot grow while 1 buffers are open"),
        "{error}"
    );
    drop(buffer);
    environment.restore(0, &mut piece(), Offset::new(5000)).unwrap();
    let mut table = Table::<Bytes, Bytes>::default();
    table.attach(environment.buffer(0, &Arc::new(Marks::default())).unwrap());
    assert_eq!(table.len().unwrap(), 5000);
}

#[test]
fn a_commit_wants_all_buffers_and_only_its_own() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |directory: &tempfile::TempDir| {
        Environment::open(directory.path(), &specs(["a", "b"]), &small())
            .unwrap()
            .environment
    };
    let (environment, foreign) = (open(&directory), open(&other));
    let marks = Arc::new(Marks::default());
    let mut a = environment.buffer(0, &marks).unwrap();
    let mut b = environment.buffer(1, &marks).unwrap();
    let mut c = foreign.buffer(1, &marks).unwrap();
    a.put(b"key", b"value").unwrap();
    let point = CommitPoint::default();
    let refused = |buffers: &mut [(usize, &mut kproc_store::Buffer)]| {
        environment.commit(buffers, &point).unwrap_err().to_string()
    };
    assert!(refused(&mut [(0, &mut a)]).contains("2 buffers are open, and a commit was given 1"));
    assert!(refused(&mut [(1, &mut a), (0, &mut b)]).contains("of another store"));
    assert!(refused(&mut [(0, &mut a), (1, &mut c)]).contains("of another store"));
    assert!(a.is_dirty());
    environment
        .commit(&mut [(1, &mut b), (0, &mut a)], &point)
        .unwrap();
    assert_eq!(a.get(b"key").unwrap(), Some(&b"value"[..]));
    let error = environment.close().unwrap_err().to_string();
    assert!(
        error.contains("cannot be closed while buffers are open"),
        "{error}"
    );
}

#[test]
fn an_environment_reopened_after_a_restore_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let environment = Environment::open(directory.path(), &specs(["things"]), &small())
        .unwrap()
        .environment;
    let entries: Vec<_> = (0..20_000_u32)
        .map(|n| (n.to_be_bytes(), n.to_le_bytes()))
        .collect();
    for (n, piece) in entries.chunks(3000).enumerate() {
        let mut piece = piece.iter().map(|(key, value)| (&key[..], Some(&value[..])));
        environment.restore(0, &mut piece, Offset::new(n as u64)).unwrap();
    }
    let environment = environment.reopen().unwrap();
    assert_eq!(environment.position(0).unwrap(), Some(Offset::new(6)));
    let mut table = Table::<Bytes, Bytes>::default();
    table.attach(environment.buffer(0, &Arc::new(Marks::default())).unwrap());
    assert_eq!(table.len().unwrap(), 20_000);
    // Nobody got in between.
    let error = Environment::open(directory.path(), &specs(["things"]), &small()).unwrap_err();
    assert!(matches!(error, kproc_store::OpenError::InUse { .. }), "{error}");
    let error = environment.reopen().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot be closed while buffers are open"),
        "{error}"
    );
    drop(table);
    let opened = Environment::open(directory.path(), &specs(["things"]), &small()).unwrap();
    assert_eq!(opened.condition, Condition::Intact);
}

/// LMDB gives up the old map before it asks for the new one.
#[test]
fn a_map_that_finds_no_room_is_an_error_and_not_a_crash() {
    const TEST: &str = "growth::a_map_that_finds_no_room_is_an_error_and_not_a_crash";
    let Some(directory) = child::role() else {
        let directory = fast_directory();
        assert_eq!(child::run(child::command(TEST, directory.path())), "");
        return;
    };
    let options = EnvironmentOptions {
        map_size: 64 << 20,
        ..EnvironmentOptions::default()
    };
    let mut one = One::<u64, Bytes>::open_with(&directory, &options);
    for (commit, keys) in [(1, 0..60), (2, 60..70)] {
        for key in keys {
            one.table.put(&key, &vec![1; 1_000_000]).unwrap();
        }
        if commit == 1 {
            one.commit(commit);
        }
    }
    // Room for what a commit needs, and not for a map of twice the size.
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_once(' ').unwrap().0.parse().unwrap();
    let limit = |current| {
        let mut limit = getrlimit(Resource::As);
        limit.current = current;
        setrlimit(Resource::As, limit).unwrap();
    };
    limit(Some(pages * 4096 + (24 << 20)));
    let error = one.try_commit(2).unwrap_err().to_string();
    assert!(error.contains("growing"), "{error}");
    for _ in 0..2 {
        one.try_commit(2).unwrap_err();
        one.table.get(&1).unwrap_err();
        one.environment.position(0).unwrap_err();
        one.environment.entries(0).unwrap_err();
    }
    one.table.detach();
    one.environment.close().unwrap_err();
    limit(None);
    let one = One::<u64, Bytes>::open_with(&directory, &options);
    assert_eq!(
        (one.condition.clone(), one.position()),
        (Condition::Intact, Some(1))
    );
    assert_eq!(one.table.len().unwrap(), 60);
}
