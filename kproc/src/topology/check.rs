//! What can be wrong with a topology, before a cluster is asked.

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use super::{ProcessorSpec, Topology};
use crate::{
    timer::{TimerClock, period_millis},
    topic::{AnyTopic, name_problem},
};

/// How many stores with changelogs a task can have, and how much that stream time makes happen in it: timers, and processors
/// that hear of its advances. A mark of four bytes is kept with each committed offset for each of these, and Kafka takes
/// 4096 bytes there (`offset.metadata.max.bytes`), some of which are for other things.
const MOST_STORES: usize = 500;
const MOST_BY_STREAM_TIME: usize = 400;

/// Everything that is wrong, in the order in which the program says it.
pub(super) fn mistakes(topology: &Topology) -> Vec<String> {
    let mut found = Mistakes(Vec::new());
    found.check_application(topology);
    for processor in &topology.processors {
        found.check_processor(processor);
    }
    found.check_names(topology);
    found.check_topics(topology);
    found.check_starts(topology);
    found.check_sizes(topology);
    found.check_bindings(topology);
    found.0
}

struct Mistakes(Vec<String>);

impl Mistakes {
    fn add(&mut self, mistake: impl Display) {
        self.0.push(mistake.to_string());
    }

    fn check_application(&mut self, topology: &Topology) {
        if let Some(problem) = part_problem(&topology.app) {
            self.add(format_args!(
                "the application's id, {:?}, {problem}: it is part of the names of changelog topics",
                &*topology.app
            ));
        }
        if topology.processors.is_empty() {
            self.add("it has no processors: add one with `.processor::<…>()`, or name it in `kproc::main!`");
        }
    }

    fn check_processor(&mut self, processor: &ProcessorSpec) {
        let name = &processor.name;
        if let Some(problem) = part_problem(name) {
            self.add(format_args!(
                "the name of processor {name:?} {problem}: give it another with `#[processor(name = \"…\")]`"
            ));
        }
        if processor.inputs.is_empty() {
            self.add(format_args!(
                "processor `{name}` reads no topic: give it a method with `#[on_message(TOPIC)]`"
            ));
        }
        for topic in repeated(processor.inputs.iter().map(|input| &*input.topic.name)) {
            self.add(format_args!(
                "processor `{name}` reads topic `{topic}` twice, perhaps by two paths of one constant: let one handler do both, or make two processors"
            ));
        }
        for number in repeated(processor.inputs.iter().map(|input| input.number)) {
            self.add(format_args!(
                "processor `{name}` declares two inputs as number {number}: number them apart"
            ));
        }
        for number in repeated(processor.timers.iter().map(|timer| timer.number)) {
            self.add(format_args!(
                "processor `{name}` declares two timers as number {number}: number them apart"
            ));
        }
        for timer in &processor.timers {
            if let Err(error) = period_millis(timer.period) {
                let called = timer
                    .name
                    .map_or_else(|| timer.number.to_string(), |called| format!("`{called}`"));
                self.add(format_args!("timer {called} of processor `{name}`: {error}"));
            }
        }
        for store in repeated(processor.stores.iter().map(|store| &store.0.name)) {
            self.add(format_args!(
                "processor `{name}` keeps two stores named `{store}`: give one another name with \
                 `#[state(name = \"…\")]`"
            ));
        }
        for (store, _) in &processor.stores {
            if let Some(problem) = part_problem(&store.name) {
                self.add(format_args!(
                    "the name of store {:?} of processor `{name}` {problem}: give it another with \
                     `#[state(name = \"…\")]`",
                    store.name
                ));
            }
        }
    }

    fn check_names(&mut self, topology: &Topology) {
        for name in repeated(topology.processors.iter().map(|processor| &processor.name)) {
            self.add(format_args!(
                "there are two processors named `{name}`: their state would be mixed up; give one another name \
                 with `#[processor(name = \"…\")]`"
            ));
        }
        let mut owners: BTreeMap<Arc<str>, (usize, usize)> = BTreeMap::new();
        for (processor, store) in topology.stores() {
            let changelog = topology.changelog(processor, store);
            let spec = &topology.processors[processor];
            let (name, store_name) = (&spec.name, &spec.stores[store].0.name);
            if changelog.len() > 249 && spec.stores[store].1.changelog {
                self.add(format_args!(
                    "the changelog of store `{store_name}` of processor `{name}` would be named `{changelog}`, which \
                     has {} characters, and Kafka allows 249: shorten the application's id or one of the names",
                    changelog.len()
                ));
            }
            // Those of one processor with one name are reported already.
            if let Some((other, _)) = owners.insert(changelog.clone(), (processor, store))
                && topology.processors[other].name != spec.name
            {
                self.add(format_args!(
                    "stores of the processors `{}` and `{name}` would share the changelog `{changelog}`: give one of \
                     the stores another name",
                    topology.processors[other].name
                ));
            }
        }
        for (name, topic) in topology.mentions() {
            let target = topology.bound(&topic.name);
            if topology.bindings.is_reserved(&target) && !owners.contains_key(&target) {
                self.add(format_args!(
                    "processor `{name}` uses topic `{target}`: names of that form (`{}-…-changelog`) are kept for \
                     the changelogs of this application; give the topic another name, or bind it to one",
                    topology.app
                ));
            }
            if let Some((owner, _)) = owners.get(&target) {
                self.add(format_args!(
                    "processor `{name}` uses topic `{target}`, which is the changelog of a store of processor `{}`: \
                     changelogs are kproc's own; use a topic of your own",
                    topology.processors[*owner].name
                ));
            }
        }
    }

    fn check_topics(&mut self, topology: &Topology) {
        let mut known: BTreeMap<&str, (&str, &AnyTopic)> = BTreeMap::new();
        for (processor, topic) in topology.mentions() {
            let (first, before) = *known.entry(&topic.name).or_insert((processor, topic));
            for (part, one, other) in [
                ("keys", before.key, topic.key),
                ("values", before.value, topic.value),
            ] {
                let (one, other) = ((one.name)(), (other.name)());
                if one != other {
                    self.add(format_args!(
                        "the {part} of topic `{}` are `{one}` to processor `{first}` and `{other}` to processor \
                         `{processor}`: declare the topic once, and use that constant everywhere",
                        topic.name
                    ));
                }
            }
        }
    }

    fn check_starts(&mut self, topology: &Topology) {
        for group in &topology.groups {
            for (topic, start) in group.inputs.iter().zip(&group.starts) {
                let readers = group
                    .processors
                    .iter()
                    .flat_map(|processor| &topology.processors[*processor].inputs);
                if readers
                    .filter(|input| input.topic.name == topic.name)
                    .any(|input| input.start != *start)
                {
                    self.add(format_args!(
                        "topic `{}` is read from its earliest record by one handler and from its latest by another: \
                         a task has one position in it; write the same `start = …` in both",
                        topic.name
                    ));
                }
            }
        }
    }

    fn check_sizes(&mut self, topology: &Topology) {
        for group in &topology.groups {
            let processors = || {
                group
                    .processors
                    .iter()
                    .map(|number| &topology.processors[*number])
            };
            let stores = processors().flat_map(|processor| &processor.stores);
            let stores = stores.filter(|(_, options)| options.changelog).count();
            let timers = processors().flat_map(|processor| &processor.timers);
            let timers = timers.filter(|timer| timer.clock == TimerClock::Stream).count();
            let hear = processors().filter(|processor| processor.hears_stream_time);
            let by_stream_time = timers + hear.count();
            for (what, found, most) in [
                ("stores with changelogs", stores, MOST_STORES),
                (
                    "timers by stream time and handlers of its advances",
                    by_stream_time,
                    MOST_BY_STREAM_TIME,
                ),
            ] {
                if found > most {
                    let names: Vec<_> = processors().map(|processor| &*processor.name).collect();
                    self.add(format_args!(
                        "processors that share inputs (`{}`) have {found} {what}, and can have {most} at most, for brokers take \
                         4096 bytes of what is kept with an offset: have fewer, or let some processors read other topics",
                        names.join("`, `")
                    ));
                }
            }
        }
    }

    fn check_bindings(&mut self, topology: &Topology) {
        for (name, target) in topology.bindings.iter() {
            if let Some(problem) = name_problem(target.as_bytes()) {
                self.add(format_args!(
                    "topic `{name}` is bound to {target:?}, but {problem}"
                ));
            }
        }
        let inputs = topology.groups.iter().flat_map(|group| &group.inputs);
        for target in repeated(inputs.map(|topic| topology.bound(&topic.name))) {
            self.add(format_args!(
                "two input topics are bound to `{target}`: bind them to different ones, or use one topic in the \
                 program"
            ));
        }
    }
}

impl Topology {
    /// Every topic that a processor declares, with the processor's name.
    fn mentions(&self) -> impl Iterator<Item = (&str, &AnyTopic)> {
        self.processors.iter().flat_map(|processor| {
            let inputs = processor.inputs.iter().map(|input| &input.topic);
            let outputs = processor.outputs.iter().map(|output| &output.topic);
            inputs.chain(outputs).map(|topic| (&*processor.name, topic))
        })
    }
}

/// Why this cannot be part of a topic's name and the name of a directory, if it cannot.
fn part_problem(part: &str) -> Option<&'static str> {
    match part {
        "" => return Some("is empty"),
        "." | ".." => return Some("would name another directory than its own"),
        _ => {}
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (!part.chars().all(legal)).then_some("may only contain ASCII letters, digits, `.`, `_` and `-`")
}

/// Items that occur more than once, each once, in order.
fn repeated<T: Ord + Clone>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut counts = BTreeMap::new();
    let mut repeated = Vec::new();
    for item in items {
        let count = counts.entry(item.clone()).or_insert(0_u32);
        *count += 1;
        if *count == 2 {
            repeated.push(item);
        }
    }
    repeated
}
