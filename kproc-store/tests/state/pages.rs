//! Damage inside the data file, which only a look at every page finds, and which kills before it is found.

use std::{
    fs::{self, OpenOptions},
    path::Path,
    sync::Arc,
    time::Duration,
};

use kproc_store::{Condition, Environment, Marks, Opened, Store, StoreError, Table};

use crate::{
    child,
    common::{Bytes, NOW, One, Random, fast_directory, small, vouch_for_any_file},
    damage::{expect_rebuild, make},
};

const DATA: &str = "data.mdb";

/// As if so many processes had ended without closing it.
fn let_die(directory: &Path, deaths: u32) {
    let path = directory.join("state.json");
    let text = fs::read_to_string(&path).unwrap();
    let dead = text.replace("\"clean\":true", "\"clean\":false");
    let dead = dead.replace("\"deaths\":0", &format!("\"deaths\":{}", deaths - 1));
    assert_ne!(text, dead);
    fs::write(path, dead).unwrap();
}

#[test]
fn d28_a_state_that_kills_its_processes_is_set_aside_the_fourth_time() {
    const TEST: &str = "pages::d28_a_state_that_kills_its_processes_is_set_aside_the_fourth_time";
    if let Some(directory) = child::role() {
        let mut table = Table::<u64, Bytes>::default();
        let Opened {
            environment,
            condition,
        } = Environment::open(&directory, &[table.spec("things".into())], &small()).unwrap();
        match condition {
            Condition::Intact => {
                // Each writes something before it dies, as a restore does: that tells nothing of the other pages.
                let id = u128::from(std::process::id());
                environment.note_origins(&[("words", id)]).unwrap();
                table.attach(environment.buffer(0, &Arc::new(Marks::default())).unwrap());
                let damaged = table
                    .iter()
                    .any(|entry| matches!(entry, Err(StoreError::Damaged { .. })));
                child::say(if damaged { "error" } else { "nothing" });
            }
            Condition::Rebuild { .. } => child::say("rebuild"),
            Condition::New => unreachable!(),
        }
        // As it would end in the other cases.
        std::process::abort();
    }
    let template = fast_directory();
    make(template.path());
    vouch_for_any_file(template.path());
    let healthy = fs::read(template.path().join(DATA)).unwrap();
    let mut outcomes = std::collections::BTreeMap::<_, u32>::new();
    for page in 2..healthy.len() / 4096 {
        let directory = fast_directory();
        fs::copy(
            template.path().join("state.json"),
            directory.path().join("state.json"),
        )
        .unwrap();
        let mut damaged = healthy.clone();
        damaged[page * 4096..][..4096].fill(0);
        fs::write(directory.path().join(DATA), &damaged).unwrap();
        let said: Vec<_> = (0..4)
            .map(|_| {
                let output = child::command(TEST, directory.path())
                    .spawn()
                    .unwrap()
                    .wait_with_output()
                    .unwrap();
                assert!(!output.status.success());
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                ["error", "nothing", "rebuild"]
                    .into_iter()
                    .find(|word| said.starts_with(word))
                    .unwrap_or("dead")
            })
            .collect();
        *outcomes.entry(said.clone()).or_default() += 1;
        // Found by LMDB, at the opening or later, or by us the fourth time; or the page is not in use.
        let unused = said.iter().all(|word| *word == "nothing");
        assert!(unused || said.contains(&"rebuild"), "page {page}: {said:?}");
    }
    // LMDB asserts what is not so, and nobody learns more than that the process is dead.
    assert!(
        outcomes.contains_key(&vec!["dead", "dead", "dead", "rebuild"]),
        "{outcomes:?}"
    );
}

/// A state with deep trees, long values, deletions and free pages.
fn make_large(directory: &Path) -> One<Bytes, Bytes> {
    let mut one = One::<Bytes, Bytes>::open(directory);
    let mut random = Random(5);
    for commit in 1..=20_u64 {
        for _ in 0..2000 {
            let key = random.below(12_000).to_be_bytes();
            let key = [&key[..], &[7; 400][..random.below(400) as usize / 40 * 40]].concat();
            let length = if random.below(100) == 0 {
                random.below(20_000)
            } else {
                random.below(200)
            };
            if random.below(3) == 0 {
                one.table.delete(&key).unwrap();
            } else {
                one.table.put(&key, &vec![commit as u8; length as usize]).unwrap();
            }
        }
        one.commit(commit);
    }
    one
}

#[test]
fn a_thorough_look_finds_nothing_wrong_with_a_healthy_state() {
    let directory = fast_directory();
    let one = make_large(directory.path());
    let length = one.table.len().unwrap();
    one.close();
    let_die(directory.path(), 9);
    let mut one = One::<Bytes, Bytes>::open(directory.path());
    assert_eq!(one.condition, Condition::Intact);
    assert_eq!((one.position(), one.table.len().unwrap()), (Some(20), length));
    // From here on they are counted anew, whatever is written.
    for deaths in [0, 1, 2, 0, 1] {
        let sidecar = fs::read_to_string(directory.path().join("state.json")).unwrap();
        assert!(sidecar.contains(&format!("\"deaths\":{deaths}")), "{sidecar}");
        one.commit(21);
        drop(one);
        one = One::<Bytes, Bytes>::open(directory.path());
        assert_eq!(one.condition, Condition::Intact);
    }
}

/// Who begins with the record over which the last one has died comes to the damaged page soon, and not after long work.
#[test]
fn processes_that_worked_for_long_have_not_died_over_a_page() {
    let directory = fast_directory();
    One::<Bytes, Bytes>::open(directory.path()).close();
    let_die(directory.path(), 2);
    let mut one = One::<Bytes, Bytes>::open(directory.path());
    let deaths = || {
        let sidecar = fs::read_to_string(directory.path().join("state.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&sidecar).unwrap()["deaths"].as_u64()
    };
    for (seconds, counted) in [(0, 2), (599, 2), (600, 0), (601, 0)] {
        one.commit_at(NOW.saturating_add(Duration::from_secs(seconds)));
        assert_eq!(deaths(), Some(counted), "after {seconds} s");
    }
    drop(one);
    drop(One::<Bytes, Bytes>::open(directory.path()));
    assert_eq!(deaths(), Some(1), "what has ended after that counts again");
}

#[test]
fn a_thorough_look_finds_what_is_wrong_with_any_page() {
    let template = fast_directory();
    make_large(template.path()).close();
    let_die(template.path(), 9);
    vouch_for_any_file(template.path());
    let sidecar = template.path().join("state.json");
    let healthy = fs::read(template.path().join(DATA)).unwrap();
    let pages = healthy.len() / 4096;
    let mut random = Random(6);
    let (mut found, mut tried) = (0, 0);
    for _ in 0..300 {
        let directory = fast_directory();
        fs::copy(&sidecar, directory.path().join("state.json")).unwrap();
        let mut damaged = healthy.clone();
        let page = 2 + random.below(pages as u64 - 2) as usize;
        let bytes = &mut damaged[page * 4096..][..4096];
        match random.below(3) {
            0 => bytes.fill(0),
            1 => bytes.fill_with(|| random.next() as u8),
            _ => {
                let other = 2 + random.below(pages as u64 - 2) as usize;
                bytes.copy_from_slice(&healthy[other * 4096..][..4096]);
            }
        }
        if damaged == healthy {
            continue;
        }
        fs::write(directory.path().join(DATA), &damaged).unwrap();
        tried += 1;
        // No damage may be found only where the page is free or inside a long value: then all can be read.
        let one = One::<Bytes, Bytes>::open(directory.path());
        match &one.condition {
            Condition::Rebuild {
                set_aside: Some(_), ..
            } => found += 1,
            Condition::Intact => assert!(one.table.iter().all(|entry| entry.is_ok())),
            other => panic!("{other:?}"),
        }
    }
    assert!(found * 2 > tried, "{found} of {tried}");
}

/// LMDB takes pages at the end of the file and may free them in the same transaction; then they are never written,
/// and the file is shorter than its header says.
#[test]
fn a_file_that_lacks_only_free_pages_is_healthy() {
    let directory = fast_directory();
    make(directory.path());
    vouch_for_any_file(directory.path());
    let path = directory.path().join(DATA);
    {
        let mut options = heed::EnvOpenOptions::new();
        // SAFETY: nobody else has this directory.
        let env = unsafe { options.max_dbs(4).map_size(64 << 20).open(directory.path()) }.unwrap();
        let txn = env.read_txn().unwrap();
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let store =
                opener.open_database::<heed::types::Bytes, heed::types::Bytes>(txn, Some("store/things"))?;
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(store.unwrap()))
        });
        let store = opened.unwrap().unwrap_commit();
        let mut txn = env.write_txn().unwrap();
        // This makes it look for free pages. There are, but not as many in a row as the next one needs.
        for key in 1000..1100_u64 {
            store.put(&mut txn, &key.to_be_bytes(), &[1; 500]).unwrap();
        }
        store.put(&mut txn, b"large", &vec![1; 1 << 20]).unwrap();
        store.delete(&mut txn, b"large").unwrap();
        for key in 1000..1100_u64 {
            store.delete(&mut txn, &key.to_be_bytes()).unwrap();
        }
        txn.commit().unwrap();
        let pages = env.info().last_page_number as u64 + 1;
        let length = fs::metadata(&path).unwrap().len();
        assert!(
            length < pages * 4096,
            "this test is about a short file: {length} bytes, {pages} pages"
        );
    }
    let one = One::<u64, Bytes>::open(directory.path());
    assert_eq!(one.condition, Condition::Intact);
    assert_eq!((one.position(), one.table.len().unwrap()), (Some(5), 300));
    one.close();
    // What is really missing is found nevertheless.
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(fs::metadata(&path).unwrap().len() / 2).unwrap();
    expect_rebuild(directory.path(), "cut off");
}
