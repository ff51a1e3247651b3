//! Data files that are not what they were: set aside, and the state rebuilt.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use kproc_store::{Condition, EnvironmentOptions, Inspector, OpenError, StoreError};

use crate::common::{Bytes, One, Random, fast_directory, small, vouch_for_any_file};

const DATA: &str = "data.mdb";

/// An environment with some commits, closed.
pub(crate) fn make(directory: &Path) {
    let mut one = One::<u64, Bytes>::open(directory);
    for commit in 1..=5_u64 {
        for key in 0..300 {
            one.table.put(&key, &vec![commit as u8; 100]).unwrap();
        }
        one.commit(commit);
    }
    one.close();
}

/// Opens what is there and expects it to be found damaged, set aside, and usable afterwards.
pub(crate) fn expect_rebuild(directory: &Path, reason_has: &str) {
    let damaged = fs::read(directory.join(DATA)).unwrap();
    match Inspector::open(directory).map(drop) {
        Err(OpenError::Damaged { what, .. }) => assert!(what.contains(reason_has), "{what}"),
        other => panic!("looking in: {other:?}"),
    }
    let mut one = One::<u64, Bytes>::open(directory);
    let Condition::Rebuild { reason, set_aside } = &one.condition else {
        panic!("expected {reason_has}, found {:?}", one.condition)
    };
    assert!(reason.contains(reason_has), "{reason}");
    assert_eq!(fs::read(set_aside.as_ref().unwrap()).unwrap(), damaged);
    assert_eq!(one.position(), None);
    assert!(one.table.is_empty().unwrap());
    one.table.put(&1, &vec![1]).unwrap();
    one.commit(1);
    one.close();
    assert_eq!(One::<u64, Bytes>::open(directory).condition, Condition::Intact);
}

#[test]
fn a_truncated_file_is_set_aside() {
    let directory = fast_directory();
    make(directory.path());
    let whole = fs::metadata(directory.path().join(DATA)).unwrap().len();
    for length in [
        1,
        100,
        4096,
        4196,
        8192,
        12288,
        whole / 2 / 4096 * 4096,
        whole / 2 + 7,
    ] {
        let directory = fast_directory();
        make(directory.path());
        let file = OpenOptions::new()
            .write(true)
            .open(directory.path().join(DATA))
            .unwrap();
        file.set_len(length).unwrap();
        expect_rebuild(directory.path(), "cut off");
    }
    // Page by page, until what is missing matters.
    let mut healthy = 0;
    for missing in 1.. {
        let directory = fast_directory();
        make(directory.path());
        let file = OpenOptions::new()
            .write(true)
            .open(directory.path().join(DATA))
            .unwrap();
        file.set_len(whole - missing * 2048).unwrap();
        let one = One::<u64, Bytes>::open(directory.path());
        if one.condition != Condition::Intact {
            break;
        }
        healthy += 1;
        assert_eq!(
            one.table
                .iter()
                .filter(|entry| entry.as_ref().unwrap().1 == [5; 100])
                .count(),
            300
        );
    }
    assert!(healthy * 2048 < whole / 2);
}

#[test]
fn an_empty_file_is_set_aside_and_not_taken_for_a_new_state() {
    let directory = fast_directory();
    make(directory.path());
    File::create(directory.path().join(DATA)).unwrap();
    expect_rebuild(directory.path(), "cut off: it has 0 bytes");
}

#[test]
fn a_foreign_file_is_set_aside() {
    for foreign in [
        vec![0x5a; 100_000],
        b"SQLite format 3\0".repeat(1000),
        vec![0; 8192],
    ] {
        let directory = fast_directory();
        make(directory.path());
        fs::write(directory.path().join(DATA), foreign).unwrap();
        expect_rebuild(directory.path(), "not one of LMDB's");
    }
}

#[test]
fn an_lmdb_file_of_another_program_is_set_aside() {
    let directory = fast_directory();
    make(directory.path());
    vouch_for_any_file(directory.path());
    fs::remove_file(directory.path().join(DATA)).unwrap();
    {
        // SAFETY: nobody else has this directory.
        let env = unsafe { heed::EnvOpenOptions::new().open(directory.path()) }.unwrap();
        let txn = env.write_txn().unwrap();
        env.create_databases_and_commit(txn, |opener, txn| {
            let database = opener.create_database::<heed::types::Str, heed::types::Str>(txn, None)?;
            database.put(txn, "key", "value")?;
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(database))
        })
        .unwrap();
    }
    expect_rebuild(directory.path(), "not one of kproc's");
}

/// Flips one bit after the other in what the two headers say of pages, transactions and sizes. In the fields that
/// are tied to nothing else a flip cannot be seen, and is not tried. Some flips in a transaction's number make the
/// commit before the last one the last: that is a state like any other, at its own position.
#[test]
fn a_flipped_bit_in_a_header_is_found() {
    let template = fast_directory();
    make(template.path());
    let healthy = fs::read(template.path().join(DATA)).unwrap();
    let fields = [
        ("page number", 0..8),
        ("page flags", 10..12),
        ("magic", 16..20),
        ("version", 20..24),
        ("page size", 40..44),
        ("free root, high", 84..88),
        ("main root, high", 132..136),
        ("last page, high", 140..144),
        ("transaction", 144..152),
    ];
    for page in 0..2 {
        for (name, bytes) in fields.clone() {
            for bit in bytes.start * 8..bytes.end * 8 {
                let directory = fast_directory();
                fs::copy(
                    template.path().join("state.json"),
                    directory.path().join("state.json"),
                )
                .unwrap();
                let mut damaged = healthy.clone();
                damaged[page * 4096 + bit / 8] ^= 1 << (bit % 8);
                fs::write(directory.path().join(DATA), &damaged).unwrap();
                let one = One::<u64, Bytes>::open(directory.path());
                match &one.condition {
                    Condition::Rebuild {
                        set_aside: Some(_), ..
                    } => {}
                    Condition::Intact if name == "transaction" => {
                        let position = one.position().unwrap();
                        assert!([4, 5].contains(&position), "{position}");
                        assert!(
                            one.table
                                .iter()
                                .all(|entry| entry.unwrap().1 == [position as u8; 100])
                        );
                        assert_eq!(one.table.len().unwrap(), 300);
                    }
                    other => panic!("{name} of page {page}, bit {bit}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn only_the_last_damaged_file_is_kept() {
    let directory = fast_directory();
    make(directory.path());
    for length in [100, 200] {
        let file = OpenOptions::new()
            .write(true)
            .open(directory.path().join(DATA))
            .unwrap();
        file.set_len(length).unwrap();
        expect_rebuild(directory.path(), "cut off");
    }
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["data.mdb", "lock", "lock.mdb", "set-aside.mdb", "state.json"]
    );
}

#[test]
fn a_lost_data_file_is_told() {
    let directory = fast_directory();
    make(directory.path());
    fs::remove_file(directory.path().join(DATA)).unwrap();
    let one = One::<u64, Bytes>::open(directory.path());
    let Condition::Rebuild {
        reason,
        set_aside: None,
    } = &one.condition
    else {
        panic!("{:?}", one.condition)
    };
    assert_eq!(reason, "the data file is gone");
}

#[test]
fn checksums_find_a_flipped_bit_in_any_value_and_name_its_key() {
    let directory = fast_directory();
    let options = EnvironmentOptions {
        checksum: true,
        ..small()
    };
    let mut one = One::<String, Bytes>::open_with(directory.path(), &options);
    let marker = b"a value that is easy to find".to_vec();
    for key in ["a", "b", "c"] {
        one.table
            .put(key, &[&marker[..], key.as_bytes()].concat())
            .unwrap();
    }
    one.table.put("empty", &[][..]).unwrap();
    one.commit(1);
    assert_eq!(one.table.get("empty").unwrap(), Some(&[][..]));
    one.close();

    let path = directory.path().join(DATA);
    let bytes = fs::read(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let mut flipped = 0;
    for (at, found) in bytes.windows(marker.len() + 1).enumerate() {
        if found[..marker.len()] == marker && found[marker.len()] == b'b' {
            file.write_all_at(&[found[0] ^ 1], at as u64).unwrap();
            flipped += 1;
        }
    }
    assert!(flipped > 0);
    // The option of the first time holds, whatever is asked for now.
    let one = One::<String, Bytes>::open_with(directory.path(), &small());
    assert_eq!(one.condition, Condition::Intact);
    assert!(one.table.get("a").unwrap().is_some() && one.table.get("c").unwrap().is_some());
    let error = one.table.get("b").unwrap_err();
    assert!(
        matches!(&error, StoreError::Corrupt { store, key, .. } if store == "things" && key == "62"),
        "{error}"
    );
    let all: Vec<_> = one.table.iter().collect();
    assert_eq!(all.len(), 4);
    assert!(matches!(all[1], Err(StoreError::Corrupt { .. })));
    assert_eq!(all.iter().filter(|entry| entry.is_ok()).count(), 3);
    drop(all);
    // However it is closed, the next opening does not fall over it again.
    one.close();
    let doubt = Inspector::open(directory.path())
        .unwrap()
        .doubt()
        .map(str::to_owned);
    assert_eq!(
        doubt.unwrap(),
        "store `things`, key 62: the value does not match its checksum"
    );
    let one = One::<String, Bytes>::open_with(directory.path(), &options);
    let Condition::Rebuild {
        reason,
        set_aside: Some(_),
    } = &one.condition
    else {
        panic!("{:?}", one.condition)
    };
    assert_eq!(
        reason,
        "store `things`, key 62: the value does not match its checksum"
    );
    drop(one);
    assert_eq!(
        One::<String, Bytes>::open_with(directory.path(), &options).condition,
        Condition::Intact
    );
}

#[test]
fn values_without_checksums_are_stored_as_they_are() {
    let directory = fast_directory();
    let mut one = One::<String, Bytes>::open(directory.path());
    let mut random = Random(3);
    for n in 0..100 {
        one.table
            .put(&n.to_string(), &vec![n; random.below(300) as usize])
            .unwrap();
    }
    one.commit(1);
    one.close();
    let options = EnvironmentOptions {
        checksum: true,
        ..small()
    };
    let one = One::<String, Bytes>::open_with(directory.path(), &options);
    for n in 0..100_u8 {
        assert!(
            one.table
                .get(&n.to_string())
                .unwrap()
                .unwrap()
                .iter()
                .all(|byte| *byte == n)
        );
    }
}
