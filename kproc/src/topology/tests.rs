//! What is grouped together, and what is refused.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Duration};

use super::*;
use crate::{
    Context, Processor, Record, Result, Table, TimerClock, Topic,
    engine::{Factory, declared, factory},
    processor::Declare,
};

type Says = fn(&mut dyn Declare, &mut Table<String, i64>);

/// A processor that declares what its maker says.
struct Declares<const N: usize> {
    says: Says,
    table: Table<String, i64>,
}

/// What the processors are called.
const NAMES: [&str; 6] = ["one", "two", "three", "one", "bad name", "a"];

impl<const N: usize> Processor for Declares<N> {
    fn name() -> Cow<'static, str> {
        NAMES[N].into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        (self.says)(to, &mut self.table);
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        Ok(())
    }
}

fn declares<const N: usize>(says: Says) -> Factory {
    factory(move || Declares::<N> {
        says,
        table: Table::default(),
    })
}

const A: Topic<String, i64> = Topic::new("a");
const B: Topic<String, i64> = Topic::new("b");
const C: Topic<String, i64> = Topic::new("c");
const OTHER_A: Topic<i64, i64> = Topic::new("a");
const OUT: Topic<String, i64> = Topic::new("out");
const OTHER_OUT: Topic<String, String> = Topic::new("out");
const CHANGELOG: Topic<String, i64> = Topic::new("app-one-t-changelog");

fn keep(to: &mut dyn Declare, name: &'static str, table: &mut Table<String, i64>) {
    to.store(name, StoreOptions::default(), table);
}

fn build(
    app: &str,
    processors: &[Factory],
    bindings: BTreeMap<Arc<str>, Arc<str>>,
) -> Result<Topology, TopologyError> {
    Topology::build(app, declared(processors), bindings)
}

fn mistakes(app: &str, processors: &[Factory]) -> Vec<String> {
    build(app, processors, BTreeMap::new())
        .err()
        .expect("it is refused")
        .mistakes
}

#[test]
fn processors_that_share_inputs_directly_or_through_others_are_one_group() {
    let topology = build(
        "app",
        &[
            declares::<0>(|to, _| to.input(0, &A, Start::Latest)),
            declares::<1>(|to, _| to.input(0, &B, Start::Earliest)),
            declares::<2>(|to, _| {
                to.input(7, &A, Start::Latest);
                to.input(3, &C, Start::Earliest);
            }),
            declares::<5>(|to, _| {
                to.input(0, &OUT, Start::Earliest);
                to.output(&A);
            }),
        ],
        BTreeMap::new(),
    )
    .unwrap();
    let groups: Vec<_> = topology
        .groups
        .iter()
        .map(|group| {
            let inputs: Vec<_> = group.inputs.iter().map(|topic| &*topic.name).collect();
            (group.processors.clone(), inputs, group.starts.clone())
        })
        .collect();
    assert_eq!(
        groups,
        [
            (vec![0, 2], vec!["a", "c"], vec![Start::Latest, Start::Earliest]),
            (vec![1], vec!["b"], vec![Start::Earliest]),
            (vec![3], vec!["out"], vec![Start::Earliest]),
        ]
    );
    let numbers: Vec<_> = topology.processors[2]
        .inputs
        .iter()
        .map(|input| input.number)
        .collect();
    assert_eq!(numbers, [3, 7]);

    // One that reads from two groups joins them.
    let topology = build(
        "app",
        &[
            declares::<0>(|to, _| to.input(0, &A, Start::Earliest)),
            declares::<1>(|to, _| to.input(0, &B, Start::Earliest)),
            declares::<2>(|to, _| {
                to.input(0, &B, Start::Earliest);
                to.input(1, &A, Start::Earliest);
            }),
        ],
        BTreeMap::new(),
    )
    .unwrap();
    assert_eq!(topology.groups.len(), 1);
    assert_eq!(topology.groups[0].processors, [0, 1, 2]);
}

#[test]
fn changelogs_and_bound_topics_are_named() {
    let bindings = [(Arc::from("a"), Arc::from("prod.a"))].into();
    let one = declares::<0>(|to, table| {
        to.input(0, &A, Start::Earliest);
        keep(to, "t", table);
    });
    let topology = build("app", &[one], bindings).unwrap();
    assert_eq!(&*topology.changelog(0, 0), "app-one-t-changelog");
    assert_eq!((&*topology.bound("a"), &*topology.bound("b")), ("prod.a", "b"));
}

#[test]
fn every_mistake_is_told_at_once_with_a_way_out() {
    let processors = vec![
        declares::<0>(|to, table| {
            to.input(0, &A, Start::Earliest);
            to.input(0, &A, Start::Earliest);
            to.output(&OUT);
            to.every(1, Duration::from_micros(5), TimerClock::Wall);
            to.every(1, Duration::from_secs(5), TimerClock::Wall);
            keep(to, "t", table);
            keep(to, "t", table);
        }),
        declares::<3>(|to, table| keep(to, "no/slash", table)),
        declares::<4>(|to, _| {
            to.input(0, &OTHER_A, Start::Latest);
            to.output(&OTHER_OUT);
            to.output(&CHANGELOG);
        }),
    ];
    let error = build("app", &processors, BTreeMap::new()).err().unwrap();
    let expected = "the application cannot run, for 13 reasons:
  - processor `one` reads topic `a` twice, perhaps by two paths of one constant: let one handler do both, or make two processors
  - processor `one` declares two inputs as number 0: number them apart
  - processor `one` declares two timers as number 1: number them apart
  - timer 1 of processor `one`: a timer cannot fire every 5µs: a period is a whole number of milliseconds, 1 at least
  - processor `one` keeps two stores named `t`: give one another name with `#[state(name = \"…\")]`
  - processor `one` reads no topic: give it a method with `#[on_message(TOPIC)]`
  - the name of store \"no/slash\" of processor `one` may only contain ASCII letters, digits, `.`, `_` and `-`: give it \
another with `#[state(name = \"…\")]`
  - the name of processor \"bad name\" may only contain ASCII letters, digits, `.`, `_` and `-`: give it another with \
`#[processor(name = \"…\")]`
  - there are two processors named `one`: their state would be mixed up; give one another name with \
`#[processor(name = \"…\")]`
  - processor `bad name` uses topic `app-one-t-changelog`, which is the changelog of a store of processor `one`: \
changelogs are kproc's own; use a topic of your own
  - the keys of topic `a` are `string` to processor `one` and `i64` to processor `bad name`: declare the topic once, and \
use that constant everywhere
  - the values of topic `out` are `i64` to processor `one` and `string` to processor `bad name`: declare the topic once, \
and use that constant everywhere
  - topic `a` is read from its earliest record by one handler and from its latest by another: a task has one position in \
it; write the same `start = …` in both";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn names_that_make_bad_changelogs_are_refused() {
    let one = || {
        declares::<0>(|to, table| {
            to.input(0, &A, Start::Earliest);
            keep(to, "t", table);
        })
    };
    assert_eq!(
        mistakes("", &[one()]),
        ["the application's id, \"\", is empty: it is part of the names of changelog topics"]
    );
    for bad in ["a b", "a/b", ".", ".."] {
        assert_eq!(mistakes(bad, &[one()]).len(), 1, "{bad}");
    }
    assert_eq!(
        mistakes("app", &[]),
        ["it has no processors: add one with `.processor::<…>()`, or name it in `kproc::main!`"]
    );
    // `<app>-one-t-changelog` has 16 characters besides the id.
    assert!(build(&"a".repeat(233), &[one()], BTreeMap::new()).is_ok());
    let long = mistakes(&"a".repeat(234), &[one()]);
    assert!(
        long[0].contains("has 250 characters, and Kafka allows 249: shorten"),
        "{long:?}"
    );
}

/// Its name is the beginning of another's with a store's.
struct Clash;

impl Processor for Clash {
    fn name() -> Cow<'static, str> {
        "a-b".into()
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &B, Start::Earliest);
        keep(to, "c", &mut Table::default());
    }

    async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn two_stores_never_share_a_changelog() {
    let other = declares::<5>(|to, table| {
        to.input(0, &A, Start::Earliest);
        keep(to, "b-c", table);
    });
    assert_eq!(
        mistakes("app", &[other, factory(|| Clash)]),
        [
            "stores of the processors `a` and `a-b` would share the changelog `app-a-b-c-changelog`: give one of the stores \
         another name"
        ]
    );
}

#[test]
fn what_is_kept_with_an_offset_must_fit() {
    fn declare<const STORES: usize, const TIMERS: usize>(to: &mut dyn Declare) {
        to.input(0, &A, Start::Earliest);
        to.handles_stream_time();
        let unlogged = StoreOptions { changelog: false };
        to.store("unlogged", unlogged, &mut Table::<String, i64>::default());
        for store in 0..STORES {
            let name = format!("store{store}");
            to.store(
                name,
                StoreOptions::default(),
                &mut Table::<String, i64>::default(),
            );
        }
        to.every(TIMERS, Duration::from_secs(5), TimerClock::Wall);
        for timer in 0..TIMERS {
            to.every(timer, Duration::from_secs(5), TimerClock::Stream);
        }
    }
    let most = || declares::<0>(|to, _| declare::<300, 199>(to));
    let rest = declares::<1>(|to, _| declare::<200, 199>(to));
    let topology = build("app", &[most(), rest], BTreeMap::new()).unwrap();
    assert_eq!(topology.groups.len(), 1);
    let more = declares::<1>(|to, _| declare::<201, 200>(to));
    let mistakes = mistakes("app", &[most(), more]);
    for (mistake, part) in mistakes.iter().zip([
        "(`one`, `two`) have 501 stores with changelogs, and can have 500 at most",
        "(`one`, `two`) have 401 timers by stream time and handlers of its advances, and can have 400 at most",
    ]) {
        assert!(mistake.contains(part), "{mistakes:#?}");
    }
    assert_eq!(mistakes.len(), 2);
}

#[test]
fn bindings_that_cannot_be_are_refused() {
    let both = declares::<0>(|to, _| {
        to.input(0, &A, Start::Earliest);
        to.input(1, &B, Start::Earliest);
    });
    let bindings = [("a", "same"), ("b", "same"), ("c", "no good")];
    let bindings = bindings
        .map(|(name, target)| (Arc::from(name), Arc::from(target)))
        .into();
    let error = build("app", &[both], bindings).err().unwrap();
    assert_eq!(
        error.mistakes,
        [
            "topic `c` is bound to \"no good\", but a topic name is made of ASCII letters, digits, `.`, `_` and `-`",
            "two input topics are bound to `same`: bind them to different ones, or use one topic in the program"
        ]
    );
}

#[test]
fn d08_names_of_changelogs_are_kept_for_changelogs() {
    const LATER: Topic<String, i64> = Topic::new("app-later-store-changelog");
    const OTHERS: Topic<String, i64> = Topic::new("application-later-store-changelog");
    let uses = declares::<0>(|to, _| {
        to.input(0, &OTHERS, Start::Earliest);
        to.output(&LATER);
    });
    let mistakes = mistakes("app", &[uses]);
    assert_eq!(mistakes.len(), 1, "{mistakes:#?}");
    for part in ["`app-later-store-changelog`", "`app-…-changelog`", "another name"] {
        assert!(mistakes[0].contains(part), "{part}: {mistakes:#?}");
    }
}
