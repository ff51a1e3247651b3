//! Marks and undo: a failed record leaves nothing behind.

use kproc_store::Store;

use crate::common::{Bytes, One};

type Dirty = Vec<(Bytes, Option<Bytes>)>;

fn dirty(one: &mut One<String, i64>) -> Dirty {
    let mut all = Vec::new();
    let mut each = |key: &[u8], value: Option<&[u8]>| all.push((key.to_vec(), value.map(<[u8]>::to_vec)));
    one.table.buffer().unwrap().dirty(&mut each);
    all
}

#[test]
fn undo_takes_back_the_current_record_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    one.table.put("stored", &1).unwrap();
    one.table.put("deleted", &2).unwrap();
    one.commit(1);
    one.marks.begin();
    one.table.put("earlier", &3).unwrap();
    one.table.delete("deleted").unwrap();
    let before = dirty(&mut one);

    one.marks.begin();
    one.table.put("stored", &10).unwrap();
    one.table.put("stored", &11).unwrap();
    one.table.put("deleted", &20).unwrap();
    one.table.delete("earlier").unwrap();
    *one.table.entry("new").unwrap().or_default() += 40;
    one.table.delete("never there").unwrap();
    assert_eq!(one.buffer().dirty_len(), 5);
    one.buffer().undo();

    assert_eq!(dirty(&mut one), before);
    assert_eq!(one.table.get("stored").unwrap(), Some(1));
    assert_eq!(one.table.get("deleted").unwrap(), None);
    assert_eq!(one.table.get("earlier").unwrap(), Some(3));
    assert_eq!(one.table.get("new").unwrap(), None);
    assert_eq!(one.table.len().unwrap(), 2);
    assert_eq!(one.table.iter().count(), 2);
}

#[test]
fn a_record_that_is_tried_again_is_undone_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    one.table.put("a", &1).unwrap();
    one.marks.begin();
    for attempt in 0..3 {
        one.table.put("a", &attempt).unwrap();
        one.table.put("b", &attempt).unwrap();
        one.buffer().undo();
        assert_eq!(one.table.get("a").unwrap(), Some(1));
        assert_eq!(one.table.get("b").unwrap(), None);
    }
}

#[test]
fn what_an_earlier_record_or_a_commit_settled_is_not_undone() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    one.marks.begin();
    one.table.put("a", &1).unwrap();
    one.marks.begin();
    one.buffer().undo();
    assert_eq!(one.table.get("a").unwrap(), Some(1));
    one.table.put("a", &2).unwrap();
    one.commit(1);
    one.buffer().undo();
    assert_eq!(one.table.get("a").unwrap(), Some(2));
    assert!(!one.buffer().is_dirty());
}

#[test]
fn discard_falls_back_to_the_last_commit() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = One::<String, i64>::open(directory.path());
    one.table.put("a", &1).unwrap();
    one.commit(1);
    one.marks.begin();
    one.table.put("a", &2).unwrap();
    one.table.put("b", &2).unwrap();
    one.buffer().discard();
    assert_eq!(one.table.get("a").unwrap(), Some(1));
    assert_eq!(one.table.len().unwrap(), 1);
    one.buffer().undo();
    assert_eq!(one.table.get("a").unwrap(), Some(1));
    assert_eq!(one.position(), Some(1));
}
