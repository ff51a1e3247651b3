//! How processors are made, and asked what they declare.

use std::sync::Arc;

use super::unit::{AnyUnit, unit};
use crate::{Processor, topology::ProcessorSpec};

/// Makes a processor, ready to become part of a task.
pub(crate) type Factory = Arc<dyn Fn() -> Box<dyn AnyUnit> + Send + Sync>;

/// A processor to be part of an application.
pub(crate) fn factory<P: Processor>(make: impl Fn() -> P + Send + Sync + 'static) -> Factory {
    Arc::new(move || unit(make()))
}

/// Makes one of each processor, to read what it declares.
pub(crate) fn declared(factories: &[Factory]) -> Vec<ProcessorSpec> {
    let read = |factory: &Factory| {
        let mut unit = factory();
        ProcessorSpec::read(unit.name(), |to| unit.declare(to))
    };
    factories.iter().map(read).collect()
}
