//! Many of everything.

use std::sync::Arc;

use kproc_store::{Condition, Environment, EnvironmentOptions, Marks, Store, Table};

use crate::{
    child,
    common::{fast_directory, point, small, specs},
};

#[test]
fn three_hundred_environments_are_open_at_once() {
    const TEST: &str = "limits::three_hundred_environments_are_open_at_once";
    let Some(directory) = child::role() else {
        let directory = fast_directory();
        // The usual limit, which is too low.
        child::run(child::shell(TEST, directory.path(), "ulimit -S -n 1024"));
        return;
    };
    // With maps as large as they are in production.
    let options = EnvironmentOptions::default();
    let mut table = Table::<String, i64>::default();
    let spec = [table.spec("things".into())];
    let mut open: Vec<_> = (0..300)
        .map(|n| {
            let directory = directory.join(n.to_string());
            let environment = Environment::open(&directory, &spec, &options)
                .unwrap()
                .environment;
            let buffer = environment.buffer(0, &Arc::new(Marks::default())).unwrap();
            (environment, buffer)
        })
        .collect();
    for round in 1..=3 {
        for (n, (environment, buffer)) in open.iter_mut().enumerate() {
            buffer.put(b"key", &[n as u8, round]).unwrap();
            environment
                .commit(&mut [(0, buffer)], &point(u64::from(round)))
                .unwrap();
        }
    }
    for (n, (environment, buffer)) in open.into_iter().enumerate() {
        table.attach(buffer);
        assert_eq!(
            table.buffer().unwrap().get(b"key").unwrap(),
            Some(&[n as u8, 3][..])
        );
        table.detach();
        environment.close().unwrap();
    }
}

#[test]
fn d22_many_stores_in_one_environment_reopened_five_times() {
    for count in [1, 8, 64, 200, 1100] {
        let directory = fast_directory();
        let specs = specs((0..count).map(|n| format!("store-{n}")));
        for time in 0..5_u8 {
            let opened = Environment::open(directory.path(), &specs, &small()).unwrap();
            let expected = if time == 0 {
                Condition::New
            } else {
                Condition::Intact
            };
            assert_eq!(opened.condition, expected);
            let environment = opened.environment;
            let marks = Arc::new(Marks::default());
            let mut buffers: Vec<_> = (0..count)
                .map(|n| environment.buffer(n, &marks).unwrap())
                .collect();
            for (n, buffer) in buffers.iter_mut().enumerate() {
                let before = (time > 0).then(|| vec![n as u8, time - 1]);
                assert_eq!(buffer.get(b"key").unwrap(), before.as_deref());
                buffer.put(b"key", &[n as u8, time]).unwrap();
            }
            let mut all: Vec<_> = buffers.iter_mut().enumerate().collect();
            environment.commit(&mut all, &point(u64::from(time))).unwrap();
            drop(buffers);
            environment.close().unwrap();
        }
    }
}

#[test]
fn d12_stores_are_found_by_name_wherever_they_are_declared() {
    let directory = fast_directory();
    let open = |names: &[&str]| {
        let opened = Environment::open(directory.path(), &specs(names.iter().copied()), &small()).unwrap();
        (opened.environment, opened.condition)
    };
    let marks = Arc::new(Marks::default());
    let (environment, _) = open(&["totals"]);
    let mut totals = environment.buffer(0, &marks).unwrap();
    totals.put(b"key", b"value").unwrap();
    environment.commit(&mut [(0, &mut totals)], &point(7)).unwrap();
    drop(totals);
    environment.close().unwrap();

    // One above it, one below it, and then it alone again.
    let (environment, condition) = open(&["above", "totals", "below"]);
    assert_eq!(condition, Condition::Intact);
    assert_eq!(
        environment.buffer(1, &marks).unwrap().get(b"key").unwrap(),
        Some(&b"value"[..])
    );
    for new in [0, 2] {
        assert_eq!(
            environment.buffer(new, &marks).unwrap().get(b"key").unwrap(),
            None
        );
        assert_eq!(
            environment.position(new).unwrap(),
            None,
            "a new store is to be restored from the beginning"
        );
    }
    assert_eq!(
        environment.position(1).unwrap().map(kproc_store::Offset::get),
        Some(7)
    );
    environment.close().unwrap();
    let (environment, condition) = open(&["totals"]);
    assert_eq!(condition, Condition::Intact);
    assert_eq!(
        environment.buffer(0, &marks).unwrap().get(b"key").unwrap(),
        Some(&b"value"[..])
    );
}

#[test]
fn d21_a_map_larger_than_the_disk_takes_no_space() {
    let directory = tempfile::tempdir().unwrap();
    let options = EnvironmentOptions {
        map_size: 16 << 40,
        max_map_size: 16 << 40,
        ..EnvironmentOptions::default()
    };
    let environment = Environment::open(directory.path(), &specs(["things"]), &options)
        .unwrap()
        .environment;
    let length = std::fs::metadata(directory.path().join("data.mdb"))
        .unwrap()
        .len();
    assert!(length < 1 << 20, "{length} bytes");
    environment.close().unwrap();
}
