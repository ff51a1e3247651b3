//! What is committed, and when a task asks for it.

use super::*;

/// Adds up, and sends every sum.
fn sums() -> Script {
    script().on_record(|counts, ctx, record| {
        let key = key(record)?;
        let mut count = counts.entry(key)?.or_default();
        *count += 1;
        Ok(ctx.send(&OUT, key, &*count)?)
    })
}

#[test]
fn a_commit_is_the_outbox_the_changelogs_sorted_the_offsets_and_stream_time() {
    let mut rig = sums().rig();
    rig.feed("a", &[rec("c", 5), rec("a", 3), rec("b", 9), rec("a", 4)]);
    rig.run().unwrap();
    let (sent, commit) = rig.commit().unwrap();
    let rows: Vec<_> = sent
        .iter()
        .map(|sent| {
            let value = sent.value.clone().unwrap();
            let key = String::from_utf8(sent.key.clone().unwrap()).unwrap();
            (
                sent.topic.as_str(),
                sent.partition,
                key,
                i64::from_be_bytes(value.try_into().unwrap()),
            )
        })
        .collect();
    let log = "app-p0-counts-changelog";
    let expected = [
        ("out", None, "c", 1),
        ("out", None, "a", 1),
        ("out", None, "b", 1),
        ("out", None, "a", 2),
        (log, Some(3), "a", 2),
        (log, Some(3), "b", 1),
        (log, Some(3), "c", 1),
    ];
    assert_eq!(
        rows,
        expected.map(|(topic, partition, key, value)| (topic, partition, key.to_string(), value))
    );
    assert_eq!(
        (commit.inputs, commit.metadata.as_str()),
        (vec![(0, Offset::new(4))], "v1 9")
    );
    assert!(rig.commit().is_none(), "nothing has happened since");

    // Only what was written since goes into the next one.
    rig.feed("a", &[rec("b", 10)]);
    rig.run().unwrap();
    let (sent, commit) = rig.commit().unwrap();
    assert_eq!(
        (keys(&sent), commit.inputs),
        (vec!["b".into(), "b".into()], vec![(0, Offset::new(5))])
    );
}

#[test]
fn b02_a_deleted_key_is_a_null_in_the_changelog() {
    let mut rig = script()
        .on_record(|counts, _, record| {
            match key(record)? {
                "put" => counts.put("k", &1)?,
                _ => counts.delete("k")?,
            }
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("put", 1)]);
    rig.run().unwrap();
    assert!(rig.commit().unwrap().0[0].value.is_some());
    rig.feed("a", &[rec("delete", 2)]);
    rig.run().unwrap();
    let (sent, _) = rig.commit().unwrap();
    assert_eq!(
        (sent[0].key.as_deref(), sent[0].value.as_deref()),
        (Some(&b"k"[..]), None)
    );
    assert_eq!(count::<0>(&rig, "k"), None);
}

/// Keeps a store without a changelog.
#[derive(Default)]
struct Scratch {
    scratch: Table<String, i64>,
}

impl Processor for Scratch {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &A, Start::Earliest);
        to.store("scratch", StoreOptions { changelog: false }, &mut self.scratch);
    }

    async fn process(&mut self, _: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        Ok(self.scratch.put(key(record)?, &1)?)
    }
}

#[test]
fn a_store_without_a_changelog_has_none_but_is_committed() {
    let mut rig = started(vec![factory(Scratch::default)], TaskSettings::default());
    rig.feed("a", &[rec("k", 1)]);
    rig.run().unwrap();
    assert_eq!(rig.commit().unwrap().0, []);
    rig.fall_back();
    assert_eq!(rig.processor::<Scratch>().scratch.get("k").unwrap(), Some(1));
}

#[test]
fn a_fall_back_forgets_what_was_not_committed() {
    let mut rig = sums().rig();
    rig.feed("a", &[rec("k", 1)]);
    rig.run().unwrap();
    rig.commit().unwrap();
    rig.feed("a", &[rec("k", 2), rec("new", 3)]);
    rig.run().unwrap();
    assert_eq!(
        (count::<0>(&rig, "k"), count::<0>(&rig, "new")),
        (Some(2), Some(1))
    );
    rig.fall_back();
    assert_eq!((count::<0>(&rig, "k"), count::<0>(&rig, "new")), (Some(1), None));
    assert!(rig.task.outbox().is_empty());
    assert_eq!(rig.task.prepare_commit().map(|commit| commit.inputs), None);
}

#[test]
fn a_request_for_a_commit_ends_the_run_after_the_record() {
    let mut rig = script()
        .on_record(|_, ctx, record| {
            if key(record)? == "commit" {
                ctx.commit();
            }
            Ok(())
        })
        .rig();
    rig.feed("a", &[rec("1", 1), rec("commit", 2), rec("3", 3)]);
    assert_eq!(rig.run().unwrap(), Pause::Commit);
    assert!(rig.task.commit_requested());
    assert_eq!(rig.commit().unwrap().1.inputs, [(0, Offset::new(2))]);
    assert!(!rig.task.commit_requested());
    assert_eq!(rig.run().unwrap(), Pause::Starved);
}

#[test]
fn a_run_ends_when_the_outbox_passes_the_budget() {
    let mut rig = script()
        .on_record(|_, ctx, _| Ok(ctx.send(&OUT, "12345678", &1)?))
        .rig();
    rig.budget = 64;
    let records: Vec<_> = (0..10).map(|n| rec("k", n)).collect();
    rig.feed("a", &records);
    // 16 bytes a record: the fifth passes 64.
    assert_eq!((rig.run().unwrap(), rig.sent().len()), (Pause::Full, 5));
    assert_eq!((rig.run().unwrap(), rig.sent().len()), (Pause::Full, 5));
    assert_eq!((rig.run().unwrap(), rig.sent().len()), (Pause::Starved, 0));
}

#[test]
fn a_run_ends_when_the_overlays_pass_the_budget_and_goes_on_after_a_commit() {
    let mut rig = script()
        .on_record(|counts, _, record| Ok(counts.put(key(record)?, &1)?))
        .rig();
    rig.budget = 200_000;
    let names: Vec<_> = (0..20_000).map(|n| format!("key-{n:06}")).collect();
    let records: Vec<_> = names.iter().map(|name| rec(name, 0)).collect();
    rig.feed("a", &records);
    let mut commits = 0;
    let mut largest = 0;
    while rig.run().unwrap() == Pause::Full {
        let held: usize = rig.overlay_bytes();
        largest = largest.max(held);
        rig.commit().unwrap();
        commits += 1;
    }
    assert!(commits > 3, "{commits}");
    // The first stretch cannot know how much the records write; from the second on it does.
    assert!(largest < 2 * rig.budget, "{largest}");
    assert_eq!(count::<0>(&rig, "key-019999"), Some(1));
}

#[test]
fn g10_rest_is_looked_at_between_two_records() {
    let rest: Arc<Mutex<Option<super::super::Rest>>> = Arc::default();
    let ask = rest.clone();
    let mut rig = script()
        .on_record(move |_, _, record| {
            if key(record)? == "ask" {
                ask.lock().unwrap().as_ref().unwrap().ask();
            }
            Ok(())
        })
        .rig();
    *rest.lock().unwrap() = Some(rig.rest.clone());
    rig.feed("a", &[rec("1", 1), rec("ask", 2), rec("3", 3)]);
    assert_eq!(rig.run().unwrap(), Pause::Asked);
    assert_eq!((rig.task.wants(0), rig.task.counters().records), (false, 2));
    assert_eq!(rig.run().unwrap(), Pause::Asked, "until it is asked no more");
    rig.rest.clear();
    assert_eq!(rig.run().unwrap(), Pause::Starved);
}

#[test]
fn a_task_at_rest_may_move_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    let mut rig = sums().rig();
    is_send(&rig.task);
    rig.feed("a", &[rec("k", 1), rec("k", 2)]);
    rig.rest.ask();
    rig.run().unwrap();
    rig.rest.clear();
    let mut rig = std::thread::spawn(move || {
        rig.run().unwrap();
        rig
    })
    .join()
    .unwrap();
    assert_eq!(keys(&rig.sent()), ["k", "k"]);
}
