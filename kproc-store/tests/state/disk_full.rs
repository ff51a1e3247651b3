//! The disk is full, then it is not.
//!
//! A process that may not write larger files sees what one on a full disk sees: short writes, then errors.

use std::process::Command;

use kproc_store::{Environment, Offset, StoreError};

use crate::{
    child,
    common::{Bytes, One, small, specs},
};

/// A child whose files may have two megabytes, and who is not killed for trying to write more.
fn limited(test: &str, directory: &std::path::Path) -> Command {
    child::shell(
        test,
        directory,
        "trap '' XFSZ && ulimit -S -f $((2 * 1024 * 1024 / 512))",
    )
}

fn lift_the_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Fsize);
    assert_eq!(limit.current, Some(2 << 20));
    limit.current = limit.maximum;
    setrlimit(Resource::Fsize, limit).unwrap();
}

fn expect_full(error: &StoreError) {
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert!(error.to_string().starts_with("the disk is full: /"), "{error}");
}

#[test]
fn d19_a_full_disk_is_an_error_and_the_commit_succeeds_once_there_is_room() {
    const TEST: &str = "disk_full::d19_a_full_disk_is_an_error_and_the_commit_succeeds_once_there_is_room";
    let Some(directory) = child::role() else {
        let directory = tempfile::tempdir().unwrap();
        child::run(limited(TEST, directory.path()));
        let one = One::<u64, Bytes>::open(directory.path());
        assert_eq!((one.position(), one.table.len().unwrap()), (Some(4), 6000));
        return;
    };
    let mut one = One::<u64, Bytes>::open(&directory);
    for key in 0..500 {
        one.table.put(&key, &vec![1; 1000]).unwrap();
    }
    one.commit(1);
    for key in 0..3000 {
        one.table.put(&key, &vec![2; 1000]).unwrap();
    }
    // As often as it is tried.
    for _ in 0..3 {
        expect_full(&one.try_commit(2).unwrap_err());
        assert_eq!(one.position(), Some(1));
        assert_eq!(one.buffer().dirty_len(), 3000);
        assert_eq!(one.table.get(&400).unwrap(), Some(&[2; 1000][..]));
        assert_eq!(one.table.len().unwrap(), 3000);
    }
    // What was there is still there, below the buffer.
    let mut written = Vec::new();
    one.buffer()
        .dirty(&mut |key, value| written.push((key.to_vec(), value.map(<[u8]>::to_vec))));
    one.buffer().discard();
    assert_eq!(one.table.len().unwrap(), 500);
    assert!(one.table.iter().all(|entry| entry.unwrap().1 == [1; 1000]));
    // A small commit still fits.
    one.table.put(&0, &vec![3; 1000]).unwrap();
    one.commit(2);

    for (key, value) in &written {
        one.buffer().put(key, value.as_ref().unwrap()).unwrap();
    }
    expect_full(&one.try_commit(3).unwrap_err());
    lift_the_limit();
    one.commit(3);
    for key in 3000..6000 {
        one.table.put(&key, &vec![4; 1000]).unwrap();
    }
    one.commit(4);
    one.close();
}

#[test]
fn a_restore_on_a_full_disk_can_be_repeated() {
    const TEST: &str = "disk_full::a_restore_on_a_full_disk_can_be_repeated";
    let Some(directory) = child::role() else {
        let directory = tempfile::tempdir().unwrap();
        child::run(limited(TEST, directory.path()));
        return;
    };
    let environment = Environment::open(&directory, &specs(["things"]), &small())
        .unwrap()
        .environment;
    let entries: Vec<_> = (0..5000_u32).map(|n| (n.to_be_bytes(), [1; 1000])).collect();
    let piece = || entries.iter().map(|(key, value)| (&key[..], Some(&value[..])));
    expect_full(
        &environment
            .restore(0, &mut piece(), Offset::new(5000))
            .unwrap_err(),
    );
    assert_eq!(environment.position(0).unwrap(), None);
    lift_the_limit();
    environment.restore(0, &mut piece(), Offset::new(5000)).unwrap();
    assert_eq!(environment.position(0).unwrap(), Some(Offset::new(5000)));
}
