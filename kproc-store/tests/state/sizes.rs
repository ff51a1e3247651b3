//! Sizes of keys and values, at their limits and beyond.

use kproc_store::{EnvironmentOptions, StoreError};

use crate::common::{Bytes, One, small};

#[test]
fn d14_keys_have_511_bytes_at_most() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<Bytes, i64>::open(directory.path());
    for length in [1, 510, 511] {
        one.table.put(&vec![7; length], &(length as i64)).unwrap();
    }
    for length in [512, 4096, 100_000] {
        let key = vec![7; length];
        let errors = [
            one.table.put(&key, &1).unwrap_err(),
            one.table.delete(&key).unwrap_err(),
            one.table.get(&key).unwrap_err(),
            one.table.entry(&key).map(drop).unwrap_err(),
        ];
        for error in errors {
            let expected =
                format!("store `things`: a key has 1 to 511 bytes when encoded, this one has {length}");
            assert_eq!(error.to_string(), expected);
        }
    }
    for _ in 0..2 {
        assert_eq!(one.table.get(&vec![7; 511]).unwrap(), Some(511));
        assert_eq!(one.table.len().unwrap(), 3, "an error leaves the table as it was");
        one.commit(1);
    }
    assert_eq!(
        one.table.iter().map(|entry| entry.unwrap().1).collect::<Vec<_>>(),
        [1, 510, 511]
    );
}

#[test]
fn d15_a_key_is_never_empty() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = One::<String, i64>::open(directory.path());
    let error = text.table.put("", &1).unwrap_err();
    assert!(
        matches!(&error, StoreError::KeySize { store, length: 0, .. } if store == "things"),
        "{error}"
    );
    assert!(text.table.get("").is_err());
    assert!(text.table.is_empty().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = One::<Bytes, i64>::open(directory.path());
    assert!(matches!(
        bytes.table.put(&[][..], &1),
        Err(StoreError::KeySize { length: 0, .. })
    ));
    assert!(!bytes.buffer().is_dirty());
}

#[test]
fn values_have_none_to_a_hundred_megabytes() {
    const LARGEST: usize = 100 << 20;
    let directory = tempfile::tempdir().unwrap();
    let options = EnvironmentOptions {
        max_value_bytes: LARGEST,
        ..small()
    };
    let mut one = One::<String, Bytes>::open_with(directory.path(), &options);
    let lengths = [0, 1, 2030, 1 << 20, LARGEST];
    for (n, length) in lengths.into_iter().enumerate() {
        one.table.put(&n.to_string(), &vec![n as u8; length]).unwrap();
    }
    let error = one.table.put("0", &vec![9; LARGEST + 1]).unwrap_err();
    let expected = format!(
        "a value has at most {LARGEST} bytes when encoded, this one has {}",
        LARGEST + 1
    );
    assert_eq!(error.to_string(), format!("store `things`: {expected}"));
    for _ in 0..2 {
        for (n, length) in lengths.into_iter().enumerate() {
            let value = one.table.get(&n.to_string()).unwrap().unwrap();
            assert!(
                value.len() == length && value.iter().all(|byte| *byte == n as u8),
                "value {n}"
            );
        }
        one.commit(1);
    }
    assert!(
        one.buffer().overlay_bytes() < 1 << 20,
        "the memory is given back after the commit"
    );
}

#[test]
fn an_empty_value_is_a_value() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, Bytes>::open(directory.path());
    one.table.put("a", &[][..]).unwrap();
    for _ in 0..2 {
        assert_eq!(one.table.get("a").unwrap(), Some(&[][..]));
        assert!(one.table.contains("a").unwrap());
        one.commit(1);
    }
}
