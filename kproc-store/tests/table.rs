//! What a table does, seen from its user.

mod common;

use common::One;
use kproc_store::Condition;

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
    assert_eq!(
        one.environment.position(0).unwrap(),
        Some(kproc_store::Offset::new(4))
    );
}
