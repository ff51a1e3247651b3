//! The application's processors, checked and grouped: what reads, writes and keeps what.
//!
//! Built once, before anything is joined or opened. Every mistake that can be seen here is reported, all at once.
//!
//! What may be here: what processors declare, and what follows from it. How they are made and run is the engine's
//! business, what the cluster has is the runtime's.

mod check;
mod declared;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use kproc_store::{StoreSpec, StoreText};

use crate::{
    outbox::Bindings,
    processor::{InputSpec, OutputSpec, Start, StoreOptions, TimerSpec},
    topic::AnyTopic,
};

/// What one processor of the application has declared.
#[derive(Clone)]
pub(crate) struct ProcessorSpec {
    /// The name that its changelogs and state directories have.
    pub(crate) name: Cow<'static, str>,
    /// Its inputs, in order of their numbers.
    pub(crate) inputs: Vec<InputSpec>,
    /// Its declared outputs.
    pub(crate) outputs: Vec<OutputSpec>,
    /// Its declared timers.
    pub(crate) timers: Vec<TimerSpec>,
    /// Its stores, in declared order: the order of their numbers in its environment.
    pub(crate) stores: Vec<(StoreSpec, StoreOptions)>,
    /// How their keys and values are shown, by number.
    pub(crate) texts: Vec<StoreText>,
    /// Whether `ctx.schedule` may be used.
    pub(crate) scheduled: bool,
    /// Whether it wants to hear of advances of stream time.
    pub(crate) hears_stream_time: bool,
}

/// Processors that share inputs, directly or through others: together they make one task per partition.
#[derive(Clone)]
pub(crate) struct TaskGroup {
    /// Numbers of processors, ascending.
    pub(crate) processors: Vec<usize>,
    /// The topics they read (names in the program), each once. All must have the same number of partitions.
    pub(crate) inputs: Vec<AnyTopic>,
    /// For each input: where to start without a committed offset.
    pub(crate) starts: Vec<Start>,
}

/// The whole application.
#[derive(Clone)]
pub(crate) struct Topology {
    /// The application's id: the consumer group's name and the prefix of changelogs.
    pub(crate) app: Arc<str>,
    pub(crate) processors: Vec<ProcessorSpec>,
    pub(crate) groups: Vec<TaskGroup>,
    /// Names of topics in the cluster, where they differ from those in the program.
    pub(crate) bindings: Arc<Bindings>,
}

/// Everything that is wrong with a topology, with the ways to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopologyError {
    /// One sentence for each mistake.
    pub(crate) mistakes: Vec<String>,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mistakes[..] {
            [only] => write!(f, "the application cannot run: {only}"),
            all => {
                write!(f, "the application cannot run, for {} reasons:", all.len())?;
                all.iter().try_for_each(|mistake| write!(f, "\n  - {mistake}"))
            }
        }
    }
}

impl std::error::Error for TopologyError {}

impl Topology {
    /// Checks and groups processors. `bindings`: names in the cluster by names in the program.
    pub(crate) fn build(
        app: &str,
        processors: Vec<ProcessorSpec>,
        bindings: BTreeMap<Arc<str>, Arc<str>>,
    ) -> Result<Self, TopologyError> {
        let app: Arc<str> = Arc::from(app);
        let topology = Self {
            app: app.clone(),
            groups: group(&processors),
            processors,
            bindings: Arc::new(Bindings::new(app, bindings)),
        };
        let mistakes = check::mistakes(&topology);
        if mistakes.is_empty() {
            Ok(topology)
        } else {
            Err(TopologyError { mistakes })
        }
    }

    /// The name in the cluster of a topic of the program.
    pub(crate) fn bound(&self, name: &str) -> Arc<str> {
        self.bindings
            .get(name)
            .cloned()
            .unwrap_or_else(|| Arc::from(name))
    }

    /// The inputs of all groups, by their names in the cluster.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Arc<str>> {
        let inputs = self.groups.iter().flat_map(|group| &group.inputs);
        inputs.map(|input| self.bound(&input.name))
    }

    /// The declared outputs, by their names in the cluster.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = Arc<str>> {
        let outputs = self.processors.iter().flat_map(|processor| &processor.outputs);
        outputs.map(|output| self.bound(&output.topic.name))
    }

    /// All stores: processor and store, by number.
    pub(crate) fn stores(&self) -> impl Iterator<Item = (usize, usize)> {
        let processors = self.processors.iter().enumerate();
        processors
            .flat_map(|(number, processor)| (0..processor.stores.len()).map(move |store| (number, store)))
    }

    /// The stores that have a changelog: processor and store, by number.
    pub(crate) fn logged_stores(&self) -> impl Iterator<Item = (usize, usize)> {
        self.stores()
            .filter(|(processor, store)| self.processors[*processor].stores[*store].1.changelog)
    }

    /// All changelogs.
    pub(crate) fn changelogs(&self) -> impl Iterator<Item = Arc<str>> {
        self.logged_stores()
            .map(|(processor, store)| self.changelog(processor, store))
    }

    /// The changelog topic of a processor's store.
    pub(crate) fn changelog(&self, processor: usize, store: usize) -> Arc<str> {
        let processor = &self.processors[processor];
        Arc::from(format!(
            "{}-{}-{}-changelog",
            self.app, processor.name, processor.stores[store].0.name
        ))
    }
}

/// Puts processors together that share an input. Groups come in order of their first processors, a group's
/// inputs in order of their first mention.
fn group(processors: &[ProcessorSpec]) -> Vec<TaskGroup> {
    let mut groups: Vec<TaskGroup> = Vec::new();
    for (number, processor) in processors.iter().enumerate() {
        let reads = |topic: &AnyTopic| {
            processor
                .inputs
                .iter()
                .any(|input| input.topic.name == topic.name)
        };
        let (mine, others) = groups
            .into_iter()
            .partition(|group| group.inputs.iter().any(reads));
        groups = others;
        let mut joint = TaskGroup {
            processors: Vec::new(),
            inputs: Vec::new(),
            starts: Vec::new(),
        };
        for TaskGroup {
            processors,
            inputs,
            starts,
        } in mine
        {
            joint.processors.extend(processors);
            joint.inputs.extend(inputs);
            joint.starts.extend(starts);
        }
        joint.processors.push(number);
        joint.processors.sort_unstable();
        for input in &processor.inputs {
            if !joint.inputs.iter().any(|topic| topic.name == input.topic.name) {
                joint.inputs.push(input.topic.clone());
                joint.starts.push(input.start);
            }
        }
        groups.push(joint);
    }
    groups.sort_by_key(|group| group.processors.first().copied());
    groups
}
