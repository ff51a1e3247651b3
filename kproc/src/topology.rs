//! The application's processors, checked and grouped: what reads, writes and keeps what.
//!
//! Built once, before anything is joined or opened. Every mistake that can be seen here is reported, all at once.

use std::{any::Any, borrow::Cow, collections::BTreeMap, sync::Arc};

use kproc_store::StoreSpec;

use crate::{
    engine::AnyUnit,
    processor::{InputSpec, OutputSpec, StoreOptions, TimerSpec},
    topic::AnyTopic,
};

/// Makes a processor, ready to become part of a task.
pub(crate) type Factory = Arc<dyn Fn() -> Box<dyn AnyUnit> + Send + Sync>;

/// One processor of the application.
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
    /// Whether `ctx.schedule` may be used.
    pub(crate) scheduled: bool,
    /// Makes new instances.
    pub(crate) factory: Factory,
}

/// Processors that share inputs, directly or through others: together they make one task per partition.
#[derive(Clone)]
pub(crate) struct TaskGroup {
    /// Numbers of processors, ascending.
    pub(crate) processors: Vec<usize>,
    /// The topics they read (names in the program), each once. All must have the same number of partitions.
    pub(crate) inputs: Vec<AnyTopic>,
}

/// The whole application.
#[derive(Clone)]
pub(crate) struct Topology {
    /// The application's id: the consumer group's name and the prefix of changelogs.
    pub(crate) app: Arc<str>,
    pub(crate) processors: Vec<ProcessorSpec>,
    pub(crate) groups: Vec<TaskGroup>,
    /// Names of topics in the cluster, where they differ from those in the program.
    pub(crate) bindings: BTreeMap<Arc<str>, Arc<str>>,
}

/// Everything that is wrong with a topology, with the ways to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyError {
    /// One sentence for each mistake.
    pub mistakes: Vec<String>,
}

impl Topology {
    /// Checks and groups processors. `bindings`: names in the cluster by names in the program.
    #[allow(dead_code, clippy::todo)]
    pub(crate) fn build(
        app: &str,
        processors: Vec<Factory>,
        bindings: BTreeMap<Arc<str>, Arc<str>>,
    ) -> Result<Self, TopologyError> {
        let _ = (app, processors, bindings);
        todo!()
    }

    /// The name in the cluster of a topic of the program.
    pub(crate) fn bound(&self, name: &str) -> Arc<str> {
        self.bindings
            .get(name)
            .cloned()
            .unwrap_or_else(|| Arc::from(name))
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

/// For looking into a processor at rest.
pub(crate) type AnyRef<'a> = &'a (dyn Any + Send);

/// A processor to be part of an application.
#[allow(dead_code)]
pub(crate) fn factory<P: crate::Processor>(make: impl Fn() -> P + Send + Sync + 'static) -> Factory {
    Arc::new(move || crate::engine::unit(make()))
}
