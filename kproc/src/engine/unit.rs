//! A processor without its type, with what the engine keeps beside it.

use std::any::Any;

use kproc_store::Store;

/// A processor without its type, with what the engine keeps beside it.
#[allow(dead_code)]
pub(crate) trait AnyUnit: Send {
    /// The processor, for tests that look into it.
    fn any(&self) -> &(dyn Any + Send);
    /// Calls `each` with every declared store, in order.
    fn stores(&mut self, each: &mut dyn FnMut(usize, &mut dyn Store));
}

/// A unit of this processor.
#[allow(dead_code, clippy::todo)]
pub(crate) fn unit<P: crate::Processor>(processor: P) -> Box<dyn AnyUnit> {
    let _ = processor;
    todo!()
}
