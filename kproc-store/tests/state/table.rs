//! What a table does, seen from its user.

use kproc_store::{Condition, Offset, Store, StoreError, Table, codec::Json};

use crate::common::{Bytes, One, Random};

#[test]
fn reads_see_what_was_written_before_and_after_a_commit() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    assert_eq!(one.condition, Condition::New);
    assert_eq!(one.table.get("a").unwrap(), None);
    one.table.put("a", &1).unwrap();
    *one.table.entry("a").unwrap().or_default() += 41;
    one.table.put("b", &2).unwrap();
    one.table.put("c", &3).unwrap();
    for round in 0..2 {
        assert_eq!(one.table.get("a").unwrap(), Some(42));
        assert!(one.table.contains("b").unwrap());
        let all: Vec<_> = one
            .table
            .iter()
            .map(|entry| entry.map(|(k, v)| (k.to_owned(), v)).unwrap())
            .collect();
        assert_eq!(
            all,
            [("a".to_owned(), 42), ("b".to_owned(), 2), ("c".to_owned(), 3)]
        );
        assert_eq!(one.buffer().is_dirty(), round == 0);
        one.commit(3);
    }
    one.table.delete("b").unwrap();
    assert_eq!(one.table.len().unwrap(), 2);
    one.commit(4);
    one.close();
    let one = One::<String, i64>::open(directory.path());
    assert_eq!(one.condition, Condition::Intact);
    assert_eq!(one.table.get("a").unwrap(), Some(42));
    assert_eq!(one.table.get("b").unwrap(), None);
    assert_eq!(one.environment.position(0).unwrap(), Some(Offset::new(4)));
}

#[test]
fn a_detached_table_says_so_in_every_verb() {
    let mut table = Table::<String, i64>::default();
    let said = |result: Result<(), StoreError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, StoreError::Detached { kind: "table" }), "{error}");
        assert!(error.to_string().contains("#[on_start]"), "{error}");
    };
    said(table.get("a").map(drop));
    said(table.contains("a").map(drop));
    said(table.put("a", &1));
    said(table.delete("a"));
    said(table.entry("a").map(drop));
    said(table.update("a", |value| value));
    said(table.retain(|_, _| true));
    said(table.len().map(drop));
    said(table.is_empty().map(drop));
    for entries in [table.iter(), table.range("a"..), table.prefix("a")] {
        let mut all: Vec<_> = entries.collect();
        assert_eq!(all.len(), 1);
        said(all.remove(0).map(drop));
    }
    assert!(table.detach().is_none());
}

#[test]
fn d09_a_million_increments_of_one_key_are_exact() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    for n in 0..1_000_000_u64 {
        one.marks.begin();
        *one.table.entry("key").unwrap().or_default() += 1;
        if n % 100_003 == 0 {
            one.commit(n);
        }
    }
    one.commit(1_000_000);
    one.close();
    let one = One::<String, i64>::open(directory.path());
    assert_eq!(one.table.get("key").unwrap(), Some(1_000_000));
}

#[test]
fn d25_every_other_entry_of_a_prefix_is_deleted_while_iterating() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    for n in 0..100 {
        for prefix in ["a/", "a0", "b/"] {
            one.table.put(&format!("{prefix}{n:03}"), &n).unwrap();
        }
        if n == 50 {
            one.commit(1);
        }
    }
    one.table
        .retain(|key, n| !key.starts_with("a/") || n % 2 == 0)
        .unwrap();
    let left = |one: &One<String, i64>, prefix: &str| {
        one.table
            .prefix(prefix)
            .map(|entry| entry.unwrap().1)
            .collect::<Vec<_>>()
    };
    for _ in 0..2 {
        assert_eq!(left(&one, "a/"), (0..100).step_by(2).collect::<Vec<_>>());
        assert_eq!(left(&one, "a0"), (0..100).collect::<Vec<_>>());
        assert_eq!(left(&one, "b/"), (0..100).collect::<Vec<_>>());
        assert_eq!(one.table.len().unwrap(), 250);
        one.commit(2);
    }
}

#[test]
fn a_tuples_prefix_finds_exactly_its_tuples() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<(String, u8), i64>::open(directory.path());
    for (n, key) in [("a", 9), ("ab", 0), ("ab", 255), ("abc", 0), ("b", 0)]
        .iter()
        .enumerate()
    {
        one.table.put(key, &(n as i64)).unwrap();
        if n == 2 {
            one.commit(1);
        }
    }
    let found: Vec<_> = one.table.prefix(&("ab",)).map(|entry| entry.unwrap().1).collect();
    assert_eq!(found, [1, 2]);
}

#[test]
fn ranges_have_every_kind_of_bound() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<Bytes, i64>::open(directory.path());
    for n in 1..=6_u8 {
        one.table.put(&[n], &i64::from(n)).unwrap();
        if n % 3 == 0 {
            one.commit(u64::from(n));
        }
    }
    one.table.put(&[4], &4).unwrap();
    one.table.delete(&[2]).unwrap();
    let table = &one.table;
    let found = |entries: kproc_store::Iter<'_, Bytes, i64>| {
        entries.map(|entry| entry.unwrap().1).collect::<Vec<_>>()
    };
    let none = Vec::<i64>::new();
    assert_eq!(found(table.range::<&[u8]>(..)), [1, 3, 4, 5, 6]);
    assert_eq!(found(table.range([3]..)), [3, 4, 5, 6]);
    assert_eq!(found(table.range(..[3])), [1]);
    assert_eq!(found(table.range(..=[3])), [1, 3]);
    assert_eq!(found(table.range([2]..=[4])), [3, 4]);
    assert_eq!(
        found(table.range((std::ops::Bound::Excluded([3]), std::ops::Bound::Excluded([6])))),
        [4, 5]
    );
    assert_eq!(found(table.range([5]..[2])), none);
    // No key is empty, but a bound may be, and may be longer than any key.
    let (empty, long) = (&[][..], &[4; 600][..]);
    assert_eq!(found(table.range(empty..)), [1, 3, 4, 5, 6]);
    assert_eq!(found(table.range(..=empty)), none);
    assert_eq!(found(table.range(long..)), [5, 6]);
    assert_eq!(found(table.prefix(&[0xFF, 0xFF][..])), none);
    assert_eq!(found(table.prefix(empty)), [1, 3, 4, 5, 6]);
}

#[test]
fn an_entry_that_cannot_be_read_is_an_error_item_and_the_rest_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    for key in ["a", "b", "c"] {
        one.table.put(key, &1).unwrap();
    }
    one.buffer().put(b"b", b"not eight bytes").unwrap();
    let all: Vec<_> = one
        .table
        .iter()
        .map(|entry| entry.map(|(key, _)| key.to_owned()))
        .collect();
    assert_eq!(all.len(), 3);
    assert!(all[0].is_ok() && all[2].is_ok());
    let error = all[1].as_ref().unwrap_err().to_string();
    assert_eq!(error, "store `things`: i64: wants 8 bytes, got 15 bytes");
    let error = one.table.get("b").unwrap_err().to_string();
    assert_eq!(error, "store `things`: i64: wants 8 bytes, got 15 bytes");
    assert!(one.table.entry("b").is_err());
    // A failed `retain` has deleted nothing.
    assert!(one.table.retain(|_, _| false).is_err());
    assert_eq!(one.table.len().unwrap(), 3);
}

#[test]
fn entries_come_in_all_forms() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    let table = &mut one.table;
    assert_eq!(*table.entry("a").unwrap().or_insert(5), 5);
    assert_eq!(
        table.get("a").unwrap(),
        Some(5),
        "what `or_insert` inserts is stored, though never changed"
    );
    assert_eq!(table.entry("a").unwrap().get(), Some(&5));
    *table
        .entry("a")
        .unwrap()
        .and_modify(|n| *n *= 2)
        .unwrap()
        .or_insert(1) += 1;
    assert_eq!(table.get("a").unwrap(), Some(11));
    assert_eq!(table.entry("a").unwrap().insert(&3).unwrap(), Some(11));
    assert_eq!(table.entry("a").unwrap().remove().unwrap(), Some(3));
    assert_eq!(table.entry("a").unwrap().remove().unwrap(), None);
    assert!(!table.contains("a").unwrap());
    table.update("b", |before| before.or(Some(7))).unwrap();
    table.update("b", |before| before.map(|n| n + 1)).unwrap();
    assert_eq!(table.get("b").unwrap(), Some(8));
    table.update("b", |_| None).unwrap();
    table.update("c", |_| None).unwrap();
    assert!(table.is_empty().unwrap());
}

#[test]
fn looking_at_an_entry_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    one.table.put("a", &1).unwrap();
    one.commit(1);
    assert_eq!(one.table.entry("a").unwrap().get(), Some(&1));
    assert_eq!(*one.table.entry("a").unwrap().or_default(), 1);
    assert!(one.table.entry("b").unwrap().get().is_none());
    one.table.update("b", |_| None).unwrap();
    assert!(!one.buffer().is_dirty());
    assert_eq!(one.table.len().unwrap(), 1);
}

#[test]
fn a_guard_that_cannot_store_its_value_fails_the_record() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, Json<Vec<f64>>>::open(directory.path());
    one.table.put("a", &vec![1.0]).unwrap();
    one.marks.begin();
    // Two megabytes of JSON; a value has one at most.
    *one.table.entry("a").unwrap().or_default() = vec![0.5; 500_000];
    assert!(one.marks.failed());
    let failure = one.buffer().take_failure().unwrap();
    assert!(matches!(failure, StoreError::ValueSize { .. }), "{failure}");
    assert!(one.buffer().take_failure().is_none());
    assert_eq!(
        one.table.get("a").unwrap(),
        Some(vec![1.0]),
        "the table is as it was"
    );
}

#[test]
fn a_guard_stores_nothing_while_its_handler_panics() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    one.table.put("a", &1).unwrap();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut guard = one.table.entry("a").unwrap().or_default();
        *guard = 99;
        std::panic::resume_unwind(Box::new("half-way"));
    }));
    assert!(panic.is_err());
    assert_eq!(one.table.get("a").unwrap(), Some(1));
}

#[test]
fn values_that_grow_and_shrink_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<u64, Bytes>::open(directory.path());
    let mut random = Random(1);
    let mut last = [0; 50];
    for n in 0..20_000_u64 {
        let key = random.below(50);
        let length = random.below(4) * random.below(500);
        one.table.put(&key, &vec![n as u8; length as usize]).unwrap();
        last[key as usize] = n;
        if n % 997 == 0 {
            for (key, n) in last.iter().enumerate() {
                if let Some(value) = one.table.get(&(key as u64)).unwrap() {
                    assert!(value.iter().all(|byte| *byte == *n as u8), "key {key}");
                }
            }
        }
    }
    assert!(one.buffer().overlay_bytes() < 1 << 20, "garbage is dropped");
}
